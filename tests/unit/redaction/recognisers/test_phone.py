import pytest

from discreet.errors import ConfigurationError
from discreet.redaction import Redactor
from discreet.redaction.recognisers import PhoneRecogniser

REDACTOR = Redactor(recognisers=[PhoneRecogniser()])


@pytest.mark.parametrize(
    "number",
    [  # formats: https://en.wikipedia.org/wiki/National_conventions_for_writing_telephone_numbers
        "+1 (202) 456-1111",
        "202-456-1111",
        "(202) 456-1111 ext. 12",
        "202.456.1111x5",
        "2024561111",
        "1-416-967-1111",
        "+44 20 7946 0906",
        "020 7946 0906",
        "07700 900123",
        "+84 912 345 678",
        "0912.345.678",
        "0912345678",
        "84912345678",
        "(028) 3829 5555",
        "+7 (916) 606-48-50",
        "8 921 651 47 69",
        "8-912-780-62-01",
        "8 912 969 84 00",
        "(3812) 37-38-99",
        "903 248-73-67",
        "150 331 53836",
        "400 6967 288",
        "98036-95431",
        "09.36.46.06.01",
        "(852) 2531-9256",
        "919/228-8829",
        "030/98620754",
        "024 3876 3989 (nhánh 57)",
        "(028) 3849 3774 - máy lẻ 120",
        "89161234567",
        "+886 912 345 678",
        "0912-345-678",
        "02-2720-8889#123",
        "+86 138 0013 8000",
        "13800138000",
        "0086 138 0013 8000",
        "+41 (0)44 668 18 00",
        "0 9 1 2 3 4 5 6 7 8",
        "０９１２３４５６７８",
        "0912–345–678",
        "+1 (383) 261-4096",  # an area code that is not assigned: `+` and the length are enough
    ],
)
def test_numbers_are_found(number):
    assert REDACTOR.redact(f"so it is {number}, ok?") == "so it is <PHONE>, ok?"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("請打0912345678給我", "請打<PHONE>給我"),
        ("тел.:89212235602.", "тел.:<PHONE>."),
        ("7,Ann,202.456.1111,x", "7,Ann,<PHONE>,x"),
        ("42,0912345678,2024", "42,<PHONE>,2024"),
        ("2024-05-17 0912345678", "2024-05-17 <PHONE>"),
        ("id 42 0912 345 678", "id 42 <PHONE>"),
        ("0912345678 2024-05-17", "<PHONE> 2024-05-17"),
        ("(0912345678)", "(<PHONE>)"),
    ],
)
def test_what_stands_beside_a_number_stays(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Phone: 358 0594", "Phone: <PHONE>"),
        ("call me on 9472 7916", "call me on <PHONE>"),
        ("Mobile:\n06 12 34 56 78", "Mobile:\n<PHONE>"),
        ("gọi cho mình số 024 1941 7585 nhé", "gọi cho mình số <PHONE> nhé"),
        ("телефон 234-56-78", "телефон <PHONE>"),
        ("電話：2720 8889", "電話：<PHONE>"),
        ("тел. 8-9-6-4-163-7-3-4-6, Олег", "тел. <PHONE>, Олег"),
        ("手机号1 3 6 · 1223 · 1545", "手机号<PHONE>"),
        ("tel 58 4*91 8*17 8", "tel <PHONE>"),
    ],
)
def test_a_word_before_it_makes_any_possible_number_a_phone(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "2024-05-17 12:30:00",
        "call me on 2024-05-17",
        "17.05.2024 10 11",
        "version 1.2.3.4 and 10.250.31.1",
        "ISBN 978-3-16-148410-0",
        "order 6467411726",
        "đơn hàng số 0912345678",
        "заказ № 89161234567",
        "訂單編號0912345678",
        "part NDC-0591-3740-01",
        "58392017-0001",
        "1.250.000.000",
        "13.250.000.000 đồng",
        "9 800 000 руб.",
        "$2024561111",
        "04 08 15 16 23 42",
        "1,2024,561,1111",
        "550e8400-e29b-41d4-a716-446655440000",
        "sha256 d41d8cd98f00b2020912345678f8427e",
        "0.2024561111",
        "doi:10.1145/3442188.3445922",
        "1234567890",
        "1700000000",
        "телефон разрядился до 5%",
        "My phone number of attempts was 3.",
        "58 4*91 8*17 8",
        "21–19 / 18–21 / 21–17",
    ],
)
def test_other_numbers_stay(text):
    assert REDACTOR.redact(text) == text


def test_regions_decide_which_national_formats_are_known():
    assert Redactor(recognisers=[PhoneRecogniser(regions=["VN"])]).redact("202-456-1111") == "202-456-1111"
    assert Redactor(recognisers=[PhoneRecogniser(regions=["FR"])]).redact("0142685300") == "<PHONE>"


def test_an_unknown_region_is_refused():
    with pytest.raises(ConfigurationError, match="'XX'"):
        PhoneRecogniser(regions=["XX"])


@pytest.mark.parametrize(
    "text",
    [
        "gọi cho em số 0912 345 678 để hẹn lịch",
        "số của em là 0912345678 đó anh",
        "手机13812345678给你",
    ],
)
def test_a_word_behind_a_number_is_no_currency(text):
    assert "<PHONE>" in REDACTOR.redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "next: 4 8 15 16 23 42 108 1080",
        "8391 318 6432 72097 440\n4248 64548 657 99039 7639",
        "broken since 10.0.19045.4046",
        "0.8075 0.7966 0.4319 0.9021",
        "lô tô 05 12 23 34 45",
        "600 700 800 900 100 200 300",
        "giá 912345678 đ",
    ],
)
def test_rows_of_other_numbers_stay(text):
    assert REDACTOR.redact(text) == text


def test_a_word_introduces_all_numbers_of_a_list():
    assert REDACTOR.redact("phones: 358 0594, 358 0595 and 358 0596.") == "phones: <PHONE>, <PHONE> and <PHONE>."
