import random

import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import VinRecogniser

REDACTOR = Redactor(recognisers=[VinRecogniser()])
CHANCE = random.Random("vehicles")
VALUES = dict(zip("ABCDEFGHJKLMNPRSTUVWXYZ0123456789", map(int, "12345678123457923456789" + "0123456789"), strict=True))
WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)


def vin(*, right=True):
    """Return a number with the check digit of 49 CFR 565.15(c), or with the next one."""
    letters = "".join(CHANCE.choices("ABCDEFGHJKLMNPRSTUVWXYZ", k=4))
    number = "1H" + letters + CHANCE.choice("0123456789") + "A0" + "K" + "".join(CHANCE.choices("0123456789", k=7))
    check = sum(VALUES[char] * weight for char, weight in zip(number, WEIGHTS, strict=True)) % 11
    return number[:8] + "0123456789X0"[check + (not right)] + number[9:]


@pytest.mark.parametrize(
    "text", ["{}", "for sale: {}, 2019", "the car ({}) is mine", "xe {} nhé", "машина {}", "车是{}的", "numéro {}"]
)
@pytest.mark.parametrize("form", [str, str.lower, lambda number: f"{number[:3]} {number[3:9]} {number[9:]}"])
def test_numbers_with_the_right_check_digit_are_found(text, form):
    assert REDACTOR.redact(text.format(form(vin()))) == text.format("<VIN>")


@pytest.mark.parametrize(
    "text",
    [
        "VIN: {}",
        "vin {}",
        "chassis number {}",
        "số khung {}",
        "so khung xe {}",
        "вин-код {}",
        "номер кузова: {}",
        "车架号{}",
        "車身號碼：{}",
        "Fahrgestellnummer {}",
        "numéro de châssis {}",
        "número de bastidor {}",
        "numero di telaio {}",
        "FIN {}",
        "車台番号 {}",
        "차대번호 {}",
    ],
)
def test_a_word_before_speaks_for_a_number_whatever_its_check_digit(text):
    assert REDACTOR.redact(text.format(vin(right=False))) == text.format("<VIN>")


@pytest.mark.parametrize(
    "text",
    [
        vin(right=False),
        f"part {vin(right=False)}",
        vin() + "1",
        vin()[:-1],
        f"a{vin()}",
        vin().replace("0", "O"),  # the letters I, O and Q are none of its
        f"VIN: {vin(right=False).replace('0', 'O')}",
        "VIN: " + "7" * 17,
        "VIN: ABCDEFGHJKLMNPRST",
        "VIN is missing",
        f"the VIN is on the windscreen, see the photo that I took yesterday; order {vin(right=False)}",
        f"{vin(right=False)} is the VIN",  # a word behind doesn't count
    ],
)
def test_other_codes_stay(text):
    assert REDACTOR.redact(text) == text
