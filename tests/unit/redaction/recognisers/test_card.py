import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import CardRecogniser

REDACTOR = Redactor(recognisers=[CardRecogniser()])


@pytest.mark.parametrize(
    "number",
    [  # test numbers that the schemes and payment providers publish, one a range and length
        "4111111111111111",
        "5555555555554444",
        "2221000000000009",
        "2223003122003222",
        "378282246310005",
        "30569309025904",
        "6011111111111117",
        "3530111333300000",
        "6200000000000005",
        "2200000000000004",
        "6759649826438453",
    ],
)
def test_every_scheme_is_found(number):
    assert REDACTOR.redact(f"pay with {number}, thanks") == "pay with <CARD>, thanks"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4111 1111 1111 1111 exp 12/27", "<CARD> exp 12/27"),
        ("4111-1111-1111-1111", "<CARD>"),
        ("4111–1111–1111–1111", "<CARD>"),
        ("4111\N{NO-BREAK SPACE}1111\N{THIN SPACE}1111 1111", "<CARD>"),
        ("４１１１１１１１１１１１１１１１", "<CARD>"),
        ("4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "<CARD>"),
        ("卡號4111111111111111，請扣款", "卡號<CARD>，請扣款"),
        ("abc4111111111111111xyz", "abc<CARD>xyz"),
        ('{"n": 4111111111111111}', '{"n": <CARD>}'),
        ("7,4111111111111111,2", "7,<CARD>,2"),
        ("2 4111 1111 1111 1111 3", "2 <CARD> 3"),
        ("2024-05-17 4111 1111 1111 1111", "2024-05-17 <CARD>"),
        ("4111111111111111 5555555555554444", "<CARD> <CARD>"),
        ("my card 4111 1111 1111 1112 was refused", "my card <CARD> was refused"),
        ("card number 501864667909?", "card number <CARD>?"),
    ],
)
def test_cards_are_found_in_every_shape(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "4111111111111112",  # wrong check digit
        "9111111111111111",  # no scheme
        "0000 0000 0000 0000",
        "41111111111111111111111",  # too long
        "EAN 4006381333931",
        "ISBN 978-3-16-148410-0",
        "550e8400-e29b-41d4-a716-446655440000",
        "order 202405171234",
        "1,2,3,4,5,6,7,8,9,10,11,12,13,14",
        "0.4111111111111111",
        "2024-05-17 12:30:00",
    ],
)
def test_other_numbers_stay(text):
    assert REDACTOR.redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "barcode 4605297959985 not found",
        "mã vạch 5017732908370 quét không ra",
        "5715 53716 724 6889",
        "107 9543 354 85641 595\n2841 219 6687 6371 40799\n269",
        "39 52 66 23 41 77 13 75",
    ],
)
def test_bar_codes_and_rows_of_numbers_stay(text):
    assert REDACTOR.redact(text) == text


@pytest.mark.parametrize("number", ["9704222438303205084", "9792698568125656", "8600031447979511", "9860200238082032"])
def test_domestic_schemes_are_found(number):
    assert REDACTOR.redact(f"thẻ {number} nhé") == "thẻ <CARD> nhé"


def test_a_printed_card_number_may_be_mistyped_or_backwards():
    assert REDACTOR.redact("so 4111 1111 1111 1112 ok") == "so <CARD> ok"
    assert REDACTOR.redact("so 1111 1111 1111 1114 ok") == "so <CARD> ok"
    assert REDACTOR.redact("card no. 4111 1111\n1111 1112, ok") == "card no. <CARD>, ok"
    assert REDACTOR.redact("so 4111*1111*1111*1112 ok") == "so <CARD> ok"
