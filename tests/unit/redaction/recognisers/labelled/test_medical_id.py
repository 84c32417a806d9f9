import random

import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import MedicalIdRecogniser

REDACTOR = Redactor(recognisers=[MedicalIdRecogniser()])
CHANCE = random.Random("patients")


def number(digits):
    return str(CHANCE.randrange(3 * 10 ** (digits - 1), 10**digits))


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("MRN: {}", 8),
        ("my patient number is {}", 7),
        ("NHS number {}", 10),
        ("mã bệnh nhân {}", 8),
        ("số bệnh án của mẹ em là {}", 9),
        ("ma benh nhan: {}", 8),
        ("номер медкарты {}", 6),
        ("полис ОМС {}", 16),
        ("病历号： {}", 8),
        ("病歷號碼是{}", 8),
        ("Patientennummer {}", 8),
        ("numéro de patient : {}", 9),
        ("número de paciente {}", 7),
        ("cartella clinica n. {}", 8),
        ("número do prontuário: {}", 7),
        ("patiëntnummer {}", 7),
        ("numer pacjenta {}", 8),
        ("hasta numarası {}", 8),
        ("nomor rekam medis {}", 6),
        ("رقم المريض {}", 7),
        ("मरीज नंबर {}", 7),
        ("診察券番号は{}です", 7),
        ("환자번호 {}", 8),
        ("หมายเลขผู้ป่วย {}", 8),
    ],
)
def test_numbers_behind_their_names_are_found(text, digits):
    assert REDACTOR.redact(text.format(number(digits))) == text.format("<MEDICAL_ID>")


@pytest.mark.parametrize("form", ["KH-{}", "P{}", "{}B"])
def test_letters_around_are_taken_along(form):
    assert REDACTOR.redact(f"patient ID {form.format(number(6))}") == "patient ID <MEDICAL_ID>"


@pytest.mark.parametrize(
    "text",
    [
        "the medical record of 1998",
        "MRN is missing",
        "MRN 123",  # too short
        "patient number 5 in the queue",
        "NHS 2024 budget",
        "patient id: unknown. Ward 482113",
        "mã bệnh nhân là gì",
        "mã bệnh nhân có 8 số",
        "номер медкарты забыл",
        "полис за 2024 год",
        "история болезни: 38.5 градусов",
        "病历号在哪里",
        "the doctor said 48211366",
        "Patientennummer fehlt",
    ],
)
def test_other_numbers_stay(text):
    assert REDACTOR.redact(text) == text
