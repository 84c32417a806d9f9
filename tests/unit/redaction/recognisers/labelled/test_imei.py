import random

import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import ImeiRecogniser

REDACTOR = Redactor(recognisers=[ImeiRecogniser()])
CHANCE = random.Random("imei")


def imei(*, right=True):
    """Return fifteen digits, the last of them by Luhn's formula (3GPP TS 23.003, annex B), or the next one."""
    number = "35" + "".join(CHANCE.choices("0123456789", k=12))
    doubled = (int(digit) * (2 - place % 2) for place, digit in enumerate(reversed(number)))
    check = -sum(each // 10 + each % 10 for each in doubled) % 10
    return number + str(check if right else (check + 1) % 10)


def grouped(number):
    return f"{number[:2]}-{number[2:8]}-{number[8:14]}-{number[14:]}"


@pytest.mark.parametrize(
    "text",
    [
        "IMEI {}",
        "my phone was stolen, the imei is {}",
        "{} is the IMEI",
        "имей телефона: {}",
        "số máy {}",
        "串号：{}",
        "手機串號是{}",
        "Die IMEI lautet {}",
        "IMEI numarası {}",
        "رقم IMEI هو {}",
        "IMEI 번호는 {}",
        "หมายเลข IMEI {}",
    ],
)
def test_numbers_near_the_word_are_found(text):
    assert REDACTOR.redact(text.format(imei())) == text.format("<IMEI>")


@pytest.mark.parametrize(
    "form", [grouped, lambda number: number + "1", lambda number: " ".join((number[:6], number[6:]))]
)
def test_groups_and_the_version_of_the_software_are_taken_along(form):
    assert REDACTOR.redact(f"IMEI: {form(imei())}, thanks") == "IMEI: <IMEI>, thanks"


def test_a_word_speaks_for_a_number_whatever_its_check_digit():
    assert REDACTOR.redact(f"IMEI {imei(right=False)}") == "IMEI <IMEI>"


def test_groups_with_the_right_check_digit_need_no_word():
    assert REDACTOR.redact(f"serial {grouped(imei())}") == "serial <IMEI>"


@pytest.mark.parametrize(
    "text",
    [
        f"serial {grouped(imei(right=False))}",
        f"order {imei()}",
        f"IMEI {imei()[:13]}",
        f"IMEI {imei()}123",
        f"IMEI {'.' * 60} {imei()}",  # too far away
        "the IMEI has 15 digits",
        "dial *#06# for the imei",
        "2024-010101-020202-3",
    ],
)
def test_other_numbers_stay(text):
    assert REDACTOR.redact(text) == text
