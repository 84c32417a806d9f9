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
        ("card 4111 O1IO not", "card 4111 O1IO not"),
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
