import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import PlateRecogniser

REDACTOR = Redactor(recognisers=[PlateRecogniser()])


@pytest.mark.parametrize(
    ("text", "plate"),
    [  # forms of the countries
        ("license plate {}", "7KLM482"),
        ("my number plate is {}", "BD51 SMR"),
        ("reg: {}", "KX19 VTP"),
        ("biển số {}", "51F-482.19"),
        ("xe biển {} màu trắng", "29A1-482.19"),
        ("bien so xe {}", "43A 48219"),
        ("госномер {}", "К482ВТ77"),
        ("номер машины: {}", "к482вт 777"),
        ("车牌号{}", "京AF4821"),
        ("車牌 {}", "ABC-4821"),
        ("Kennzeichen {}", "M-KL 4821"),
        ("immatriculation : {}", "KB-482-TP"),
        ("matrícula {}", "4821 KLM"),
        ("placa {}", "KLM4B21"),
        ("targa {}", "KB482TP"),
        ("kenteken {}", "48-KLM-2"),
        ("numer rejestracyjny {}", "WK 4821L"),
        ("plaka {}", "34 KLM 482"),
        ("plat nomor {}", "B 4821 KLM"),
        ("ナンバーは{}", "品川 300 あ 48-21"),
        ("번호판 {}", "48가 2163"),
        ("رقم اللوحة {}", "KLM 4821"),
        ("गाड़ी नंबर {}", "DL 4C KL 4821"),
    ],
)
def test_plates_behind_a_word_are_found(text, plate):
    assert REDACTOR.redact(text.format(plate)) == text.format("<PLATE>")


@pytest.mark.parametrize(
    "text",
    [
        "чёрная {}, стоит во дворе",
        "a van with {} hit me",
    ],
)
@pytest.mark.parametrize(
    "plate", ["К482ВТ77", "А 482 ВТ 177 RUS", "京AF4821", "粤B·4821K", "51F-482.19", "29A1-482.19"]
)
def test_some_need_no_word(text, plate):
    assert REDACTOR.redact(text.format(plate)) == text.format("<PLATE>")


@pytest.mark.parametrize(
    "text",
    [
        "product KX19 VTP",
        "part no. KB-482-TP",
        "ISO 9001, B2B and MP3",
        "the plate was hot, 200 grams of rice",
        "a plate of 12 oysters",
        "license plate readers cost 4821 each",
        "license plate 12345678",  # no letters
        "license plate ABCDEFG",  # no digits
        "license plate frames. Model KX19 VTP",
        "registration opens 12:30",
        "reg 2024",
        "biển số đẹp giá 500 triệu",
        "biển báo 40",
        "номер машины не помню",
        "номер заказа 482",
        "Kennzeichen fehlt",
        "targa persa nel 2019",
        "51F-482.1",
        "К482ВТ",
        "room B482",
    ],
)
def test_other_codes_stay(text):
    assert REDACTOR.redact(text) == text
