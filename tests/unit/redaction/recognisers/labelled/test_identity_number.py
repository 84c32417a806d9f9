import random

import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import IdentityNumberRecogniser

REDACTOR = Redactor(recognisers=[IdentityNumberRecogniser()])
CHANCE = random.Random("identity numbers")


def made(form):
    """Return `form` with a digit for each 0 and a letter for each A."""
    digits = {"0": "123456789", "A": "BCDFGHJKLM"}
    return "".join(CHANCE.choice(digits[char]) if char in digits else char for char in form)


@pytest.mark.parametrize(
    ("text", "form"),
    [  # forms of the authorities that give them
        ("my passport number is {}", "A00000000"),
        ("driver's license: {}", "A0000000"),
        ("tax id {}", "00-0000000"),
        ("UTR: {}", "00000 00000"),
        ("số hộ chiếu {}", "A0000000"),
        ("cccd của em là {}", "000000000000"),
        ("mã số thuế: {}", "0000000000"),
        ("паспорт {}", "0000 000000"),
        ("инн {}", "000000000000"),
        ("护照号{}", "A00000000"),
        ("身分證字號是{}", "A000000000"),
        ("Reisepassnummer {}", "A00000000"),
        ("Steuer-ID: {}", "00 000 000 000"),
        ("numéro de passeport : {}", "00AA00000"),
        ("DNI {}", "00000000A"),
        ("passaporto {}", "AA0000000"),
        ("CPF: {}", "000.000.000-00"),
        ("BSN {}", "000000000"),
        ("nr dowodu {}", "AAA 000000"),
        ("TC kimlik no {}", "00000000000"),
        ("NIK {}", "0000000000000000"),
        ("رقم الهوية {}", "0000000000"),
        ("आधार नंबर {}", "0000 0000 0000"),
        ("パスポート番号は{}です", "AA0000000"),
        ("여권번호 {}", "A00000000"),
        ("เลขบัตรประชาชน {}", "0-0000-00000-00-0"),
    ],
)
def test_numbers_behind_their_names_are_found(text, form):
    assert REDACTOR.redact(text.format(made(form))) == text.format("<NATIONAL_ID>")


def test_the_code_that_italy_gives_a_person_is_found():
    assert REDACTOR.redact(f"codice fiscale: {made('AAAAAA00A00A000A')}") == "codice fiscale: <NATIONAL_ID>"


@pytest.mark.parametrize(
    "text",
    [
        "passport control opens at 6:30",
        "passport photo 35x45",
        "my passport expires in 2029",
        "passport renewal costs 1500 rubles",
        "the passport number has nine digits",
        "passport number 1234",  # too short
        "hộ chiếu hết hạn năm 2026",
        "cccd gắn chip",
        "паспорт 2024 года образца",
        "инн состоит из 12 цифр",
        "护照要带2张照片",
        "DNI caducado en 2023",
        "flight AB1234567",
        "the passport is fine, and then we flew on AB1234567 to Rome",
    ],
)
def test_other_numbers_stay(text):
    assert REDACTOR.redact(text) == text
