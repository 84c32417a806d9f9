import pytest

from discreet.redaction import redact


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gọi 0,9,1,2,3,4,5,6,7,8 nhé", "gọi <PHONE> nhé"),
        ("gọi 0|9|1|2|3|4|5|6|7|8 nhé", "gọi <PHONE> nhé"),
        ("0 • 9 • 1 • 2 • 3 • 4 • 5 • 6 • 7 • 8", "<PHONE>"),
        ("打 0🔥9🔥1🔥2🔥3🔥4🔥5🔥6🔥7🔥8", "打 <PHONE>"),
        ("карта [4111][1111][1111][1111]", "карта [<CARD>]"),
        ("4111<br>1111<br>1111<br>1111", "<CARD>"),
        ('["411", "111", "111", "111", "111", "1"]', '["<CARD>"]'),
        ("4111、1111、1111、1111", "<CARD>"),
        ("room 4111 O1IO not", "room 4111 O1IO not"),
        ("card 4lll-1111-1l1l-1111", "card <CARD>"),
        ("thẻ ⁴¹¹¹¹¹¹¹¹¹¹¹¹¹¹¹", "thẻ <CARD>"),
        ("звони 8&nbsp;921&nbsp;651&nbsp;47&nbsp;69", "звони <PHONE>"),
    ],
)
def test_numbers_in_pieces_are_found(text, expected):
    assert redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]",
        "2, 3, 5, 7, 1, 4, 6",
        "2019, 2020, 2021, 2022, 2023",
        "1,234,567,890 and 12,345,678",
        "rgb(120, 130, 140), rgba(255, 255, 255, 0.5)",
        "4*5*6*7*8*9*1*2",
        "m² and 10⁹ and H₂O",
        "100|200|300|400",
        "SOS, ISO 9001, S3, B2B, O2",
    ],
)
def test_lists_of_other_numbers_stay(text):
    assert redact(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("my card 4111 1111\n1111 1111, thanks", "my card <CARD>, thanks"),
        ("> my card 4111 1111\n> 1111 1111, thanks", "> my card <CARD>, thanks"),
        ("card 4111-1111-1111-\n1111 exp", "card <CARD> exp"),
        ("call +1 202 456\r\n1111 now", "call <PHONE> now"),
        ("gọi 0912 345\n678 nhé", "gọi <PHONE> nhé"),
        ("звони +7 916 123-\n45-67", "звони <PHONE>"),
        ("write to ann.smith@exa\nmple.com please", "write to <EMAIL> please"),
        ("IBAN DE89 3704 0044\n0532 0130 00", "IBAN <IBAN>"),
        ("| card 4111 1111\n| 1111 1111 |", "| card <CARD> |"),
    ],
)
def test_values_that_a_line_break_cuts_are_found(text, expected):
    assert redact(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("card 41ll llll 1111 1111", "card <CARD>"),
        ("card 4I11-I1I1-111I-1111", "card <CARD>"),
        ("card: 4111 1111 1111 I111", "card: <CARD>"),
        ("tel. O2O 7946 O958", "tel. <PHONE>"),
        ("gọi O912 345 678", "gọi <PHONE>"),
        ("звони +7 9I6 I23-45-67", "звони <PHONE>"),
        ("IBAN DE89 37O4 0O44 0532 0l30 0O", "IBAN <IBAN>"),
    ],
)
def test_digits_that_a_scanner_took_for_letters_are_read(text, expected):
    assert redact(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("write a n n @ e x a m p l e . c o m now", "write <EMAIL> now"),
        ("a_n_n_@_e_x_a_m_p_l_e_._c_o_m", "<EMAIL>"),
        ("a·n·n·@·e·x·a·m·p·l·e·.·c·o·m", "<EMAIL>"),
        ("0 9 1 2 3 4 5 6 7 8 gọi nhé", "<PHONE> gọi nhé"),
        ("4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "<CARD>"),
        ("4-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1", "<CARD>"),
        ("card 4.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1", "card <CARD>"),
        ("card 4111...1111...1111...1111", "card <CARD>"),
        ("card 4111 ~ 1111 ~ 1111 ~ 1111", "card <CARD>"),
    ],
)
def test_values_with_something_between_all_their_characters_are_found(text, expected):
    assert redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "7\n8\n9\n10\n11",
        "total 1234\n2345 rows",
        "1. bread\n2. milk\n3. tea",
        "in 2019\n2020 was better",
        "room 12\n14 people",
        "2024-01-31\n2024-02-01",
        "12:30\n13:30",
        "ends with a dash -\nand goes on",
        "a b c d e f g",
        "S O S and O K",
        "Q1 2024, Q2 2024, B2B, O2, S3, I18N, l10n",
        "IS0 and BO0 and ZOO",
        "| 1 | 2 | 3 |\n| 4 | 5 | 6 |",
        "x_1_2_3 and y-1-2-3",
    ],
)
def test_lines_and_letters_of_other_things_stay(text):
    assert redact(text) == text
