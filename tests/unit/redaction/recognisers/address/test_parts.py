import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers.address import PartsAddressRecogniser

REDACTOR = Redactor(recognisers=[PartsAddressRecogniser()])


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("come to {} at six", "14 Elm Street, flat 7"),
        ("I live at {}.", "Flat 12, Oak House, 48 Mill Lane"),
        ("nhà em ở {} nhé", "số 12 ngõ 34 phố Huế"),
        ("giao tới {}", "căn hộ 1204, tầng 12, toà nhà Sunrise"),
        ("giao ve {}", "so 5 hem 215 duong Le Van Sy"),
        ("живу на {}", "улице Гагарина, дом 14, квартира 27"),
        ("доставка: {}", "пр-т Мира 12, корпус 3, кв 48"),
        ("{}", "ул. Садовая, д. 14, кв. 7"),
        ("ich wohne hier: {}", "Lindenstraße 14, 3. Stock"),
        ("j'habite {}", "12 rue des Lilas, appartement 4"),
        ("vivo en {}", "calle Mayor 14, piso 3"),
        ("moro na {}", "rua das Flores, 123, apartamento 45"),
        ("abito in {}", "via Garibaldi 14, interno 3"),
        ("mieszkam na {}", "ulicy Polnej 14, mieszkanie 7"),
        ("adresim {}", "Lale Sokak No: 14, Daire 3"),
        ("alamat: {}", "Jalan Melati No. 14, RT 03"),
        ("送到：{}", "幸福小区3号楼2单元501室"),
        ("请送到{}", "北京市朝阳区中山路1054号1765室"),
        ("住所は{}です", "桜町3丁目14番地"),
        ("{}", "شارع الملك فهد 14"),
    ],
)
def test_parts_that_stand_side_by_side_are_found(text, address):
    assert REDACTOR.redact(text.format(address)) == text.format("<ADDRESS>")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Address: 14 Elm Court", "Address: <ADDRESS>"),
        ("Address: 14 Elm Court\nPhone: none", "Address: <ADDRESS>\nPhone: none"),
        ("Địa chỉ nhận hàng: 14 Lê Lợi, Huế", "Địa chỉ nhận hàng: <ADDRESS>"),
        ("Адрес доставки: Гагарина 14-27", "Адрес доставки: <ADDRESS>"),
        ("地址：幸福路14号", "地址：<ADDRESS>"),
        ("Adresse : 14 les Lilas", "Adresse : <ADDRESS>"),
    ],
)
def test_the_line_of_a_form_is_found(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize("order", ["квартира 27, дом 14, улица Гагарина", "улица Гагарина, квартира 27, дом 14"])
def test_parts_may_stand_in_any_order(order):
    assert REDACTOR.redact(f"пишите: {order}, жду") == "пишите: <ADDRESS>, жду"


@pytest.mark.parametrize(
    "text",
    [
        "the street was empty at 6",
        "two floors, 3 rooms and a flat roof",
        "on the 3rd floor of the market",
        "block 5 is mined",
        "house number five",
        "the flat costs 1200 a month",
        "unit 5 of the textbook",
        "a 14 mm drill",
        "IP address: 10.1.2.3",
        "Email address: ann at home, 24 hours",
        "MAC address: a 6 byte number",
        "address space: 48 bits",
        "căn hộ 2 phòng ngủ giá 3 tỷ",
        "đường 500 g, bột 1 kg",
        "số 5 là số may mắn",
        "tầng 3 bán quần áo",
        "улица длинная, домов 50",
        "дом 2 смотрели вчера",
        "квартира за 5 миллионов",
        "на 3 этаже ремонт",
        "路上堵了3个小时",
        "3号线换乘2号线",
        "Straße gesperrt, 3 km Stau",
        "la rue est longue de 14 km",
        "calle cortada 3 días",
    ],
)
def test_what_only_looks_so_stays(text):
    assert REDACTOR.redact(text) == text
