import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers.address import VillageAddressRecogniser

REDACTOR = Redactor(recognisers=[VillageAddressRecogniser()])


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("gửi về {}. Phí ship?", "thôn Đông Hạ, xã Quảng Phú, huyện Thọ Xuân, tỉnh Thanh Hóa"),
        ("nhà em ở {} ạ", "ấp 3, xã Tân Phú, huyện Đồng Phú"),
        ("舅舅老家在{}，导航导不到", "安徽省六安市金寨县古碑镇七邻村王湾组"),
        ("दादाजी {} में रहते हैं", "ग्राम रामपुर खुर्द, पोस्ट बेलघाट, जिला गोरखपुर, उत्तर प्रदेश"),
        ("бабушка: {}, пишите", "д. Малые Ключи, Каширский район, Московская область"),
        ("rumah nenek di {} ya", "Dusun Krajan, Desa Sukamaju, Kec. Cibeber, Kab. Cianjur"),
    ],
)
def test_a_village_with_all_that_it_lies_in_is_found(text, address):
    assert REDACTOR.redact(text.format(address)) == text.format("<ADDRESS>")


@pytest.mark.parametrize(
    "text",
    [
        "xã Quảng Phú có bao nhiêu thôn?",
        "huyện Thọ Xuân, tỉnh Thanh Hóa",
        "安徽省六安市的茶很有名",
        "ग्राम पंचायत क्या है?",
        "Московская область и Каширский район",
        "Desa Sukamaju, Kab. Cianjur",
    ],
)
def test_villages_and_districts_that_are_talked_about_stay(text):
    assert REDACTOR.redact(text) == text
