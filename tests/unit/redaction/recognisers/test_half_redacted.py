import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import CardRecogniser, HalfRedactedRecogniser

REDACTOR = Redactor(recognisers=[HalfRedactedRecogniser()])
AMONG_OTHERS = Redactor(recognisers=[HalfRedactedRecogniser(), CardRecogniser()])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("call 0912 xxx 568 after six", "call <PARTIAL_NUMBER> after six"),
        ("0912***568", "<PARTIAL_NUMBER>"),
        ("số 09xx xxx 568 nha", "số <PARTIAL_NUMBER> nha"),
        ("sđt 0912 *** 568", "sđt <PARTIAL_NUMBER>"),
        ("+7 912 *** ** 68", "<PARTIAL_NUMBER>"),
        ("身份证110101******3284", "身份证<PARTIAL_NUMBER>"),
        ("карта 4821 **** **** 8589", "карта <PARTIAL_NUMBER>"),
        ("card 4821 •••• •••• 8589", "card <PARTIAL_NUMBER>"),
        ("card 4821-XXXX-XXXX-8589", "card <PARTIAL_NUMBER>"),
        ("card 4821 ████ ████ 8589", "card <PARTIAL_NUMBER>"),
        ("IBAN DE82 **** **** 5698", "IBAN <PARTIAL_NUMBER>"),
    ],
)
def test_digits_on_both_sides_of_signs_are_found(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0912345***", "<PARTIAL_NUMBER>"),
        ("phone 0912 345 xxx", "phone <PARTIAL_NUMBER>"),
        ("ssn 482-11-xxxx", "ssn <PARTIAL_NUMBER>"),
        ("SSN 482-11-****", "SSN <PARTIAL_NUMBER>"),
        ("CPF: ***.494.414-**, ok", "CPF: ***.<PARTIAL_NUMBER>-**, ok"),
        ("IBAN GB44 MIDL 1434 ████ 9838 93 ok", "IBAN <PARTIAL_NUMBER> ok"),
        ("SĐT: [ĐÃ ẨN]610665", "SĐT: [ĐÃ ẨN]<PARTIAL_NUMBER>"),
        ("pesel (ukryte)9188110", "pesel (ukryte)<PARTIAL_NUMBER>"),
        ("SSN ***-**-4821", "SSN ***-**-<PARTIAL_NUMBER>"),
    ],
)
def test_digits_before_signs_for_the_last_ones_are_found(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "mask",
    [
        "[PHONE NUMBER]",
        "[REDACTED]",
        "<HIDDEN>",
        "###",
        "____",
        "…",
        "[скрыто]",
        "[đã ẩn]",
        "(removed)",
        "[已隐藏]",
    ],
)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("call 0912345{}", "call <PARTIAL_NUMBER>{}"),
        ("call {}345678", "call {}<PARTIAL_NUMBER>"),
        ("call 0912{}5678 now", "call <PARTIAL_NUMBER>{}<PARTIAL_NUMBER> now"),
    ],
)
def test_digits_beside_a_word_or_signs_for_the_others_are_found(text, expected, mask):
    assert REDACTOR.redact(text.format(mask)) == expected.format(mask)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("card <CARD>8589", "card <CARD><PARTIAL_NUMBER>"),
        ("карта 4821<CARD>", "карта <PARTIAL_NUMBER><CARD>"),
        ("4821<CARD>8589", "<PARTIAL_NUMBER><CARD><PARTIAL_NUMBER>"),
        ("thẻ <CARD>8589", "thẻ <CARD><PARTIAL_NUMBER>"),
        ("卡<CARD>8589", "卡<CARD><PARTIAL_NUMBER>"),
        ("paid with <CARD> 8589 and left", "paid with <CARD> <PARTIAL_NUMBER> and left"),
        ("paid with <CARD> 2024 and left", "paid with <CARD> 2024 and left"),
        ("打 [已屏蔽]8589，别忘了", "打 [已屏蔽]<PARTIAL_NUMBER>，别忘了"),
    ],
)
def test_digits_beside_a_placeholder_are_found(text, expected):
    assert AMONG_OTHERS.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "12 xx 34",
        "1920x1080",
        "1920 x 1080",
        "rating **** 2021",
        "2 xxl shirts for 30",
        "3x4 and 5x6",
        "0x12345678",
        "size XXL 12",
        "chapter XX 12",
        "**bold** 1234 **bold**",
        "3 ** 2 = 9",
        "2**10 is 1024",
        "rated **** by 12345 people",
        "5** hotel, 1200 rooms",
        "HTTP 4xx and 5xx",
        "4xx errors: 1200",
        "see [1] and [23]",
        "[INFO] 200 requests",
        "fill in ____ here by 2024",
        "what??? 2024",
        "to be continued… 2024",
        "item #1234",
        "<b>1234</b>",
        "<EMAIL> 42",
        "(removed) 3 rows",
        "call me maybe <EMAIL>, it's 5",
    ],
)
def test_other_digits_beside_signs_stay(text):
    assert REDACTOR.redact(text) == text
