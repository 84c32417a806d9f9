import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import BirthDateRecogniser

REDACTOR = Redactor(recognisers=[BirthDateRecogniser()])


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("I was born on {} in Leeds", "March 14, 1987"),
        ("DOB: {}", "03/14/1987"),
        ("date of birth {}", "14 March 1987"),
        ("her birthday is {}", "1987-03-14"),
        ("ngày sinh: {}", "14/03/1987"),
        ("em sinh ngày {}", "14/3/1987"),
        ("sinh ngày {}", "14 tháng 3 năm 1987"),
        ("ngay sinh {}", "14-03-1987"),
        ("дата рождения {}", "14.03.1987"),
        ("я родилась {}", "14 марта 1987"),
        ("出生日期：{}", "1987年3月14日"),
        ("我的生日是{}", "1987-03-14"),
        ("生年月日 {}", "昭和62年3月14日"),
        ("生年月日：{}", "1987年3月14日"),
        ("생년월일 {}", "1987년 3월 14일"),
        ("생년월일: {}", "870314"),
        ("geboren am {}", "14.03.1987"),
        ("Geburtsdatum: {}", "14. März 1987"),
        ("née le {}", "14 mars 1987"),
        ("date de naissance : {}", "14/03/1987"),
        ("fecha de nacimiento: {}", "14 de marzo de 1987"),
        ("nata il {}", "14/03/1987"),
        ("data de nascimento: {}", "14/03/1987"),
        ("geboortedatum {}", "14-03-1987"),
        ("data urodzenia: {}", "14.03.1987"),
        ("doğum tarihim {}", "14.03.1987"),
        ("tanggal lahir {}", "14-03-1987"),
        ("تاريخ الميلاد {}", "14/03/1987"),
        ("जन्म तिथि {}", "14/03/1987"),
        ("วันเกิด {}", "14/03/1987"),
    ],
)
def test_dates_behind_a_word_for_a_birth_are_found(text, date):
    assert REDACTOR.redact(text.format(date)) == text.format("<BIRTH_DATE>")


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("{}生まれです", "1987年3月14日"),
        ("{}生", "1987年3月14日"),
        ("{}생입니다", "1987년 3월 14일"),
        ("Иванов, {} г.р.", "14.03.1987"),
        ("{} geboren in Bonn", "14.03.1987"),
        ("{} doğumlu", "14.03.1987"),
    ],
)
def test_dates_before_a_word_for_a_birth_are_found(text, date):
    assert REDACTOR.redact(text.format(date)) == text.format("<BIRTH_DATE>")


@pytest.mark.parametrize(
    "text",
    [
        "we met on March 14, 1987",
        "14/03/1987",
        "the invoice of 14.03.1987 is open",
        "the baby was born at 14:03 on a rainy night",
        "born in the eighties",
        "born to run, released 25 August",
        "the company was born. It went public on 14/03/1987",
        "date of birth is missing",
        "date of birth 1987",
        "birthday party for 20 people",
        "the birthday table is booked for 031487",  # six digits need nothing but a sign between
        "sinh viên năm 3 nộp ngày 14/03/2024",
        "sinh hoạt phí 3.000.000",
        "родился план на 2024 год",
        "встреча 14.03.1987 в офисе",
        "生日快乐，3月14日见",
        "会议在1987年3月14日举行",
        "1987年3月14日生产",
        "Geburtstag am Samstag um 14 Uhr",
        "geboren wurde die Idee 1987",
    ],
)
def test_other_dates_stay(text):
    assert REDACTOR.redact(text) == text
