import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers.address import EastAsianAddressRecogniser

REDACTOR = Redactor(recognisers=[EastAsianAddressRecogniser()])


@pytest.mark.parametrize(
    ("before", "address", "after"),
    [  # order of the parts: Japan Post; Korea Post, road name addresses (도로명주소)
        ("住所は", "〒150-0002 東京都渋谷区渋谷2-21-1", "です"),
        ("", "大阪府大阪市北区梅田3丁目1番3号", ""),
        ("", "横浜市西区みなとみらい2-2-1", "に住んでいます"),
        ("", "神奈川県川崎市中原区小杉町1-403 武蔵小杉タワー 1203号室", ""),
        ("저는 ", "서울특별시 종로구 세종대로 209", "에 살아요"),
        ("", "부산광역시 해운대구 우동 1408번지", ""),
        ("", "경기도 성남시 분당구 판교역로 166, 101동 1203호", "로 보내주세요"),
        ("", "서울시 마포구 양화로 45길 12, 3층", ""),
    ],
)
def test_addresses_are_found_from_end_to_end(before, address, after):
    assert REDACTOR.redact(before + address + after) == f"{before}<ADDRESS>{after}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I live at 東京都渋谷区渋谷2-21-1 now", "I live at <ADDRESS> now"),
        ("адрес: 서울특별시 종로구 세종대로 209, да", "адрес: <ADDRESS>, да"),
    ],
)
def test_words_of_other_scripts_may_touch_it(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "東京都は人口が1400万人です。",
        "東京都の人口は2020年に1400万人でした。",
        "北海道には179の市町村があります。",
        "大阪市の3月は寒い。",
        "新宿区で2-1で勝った",
        "私は5丁目に住んでいます。",
        "京都府は3月に桜が咲く。",
        "서울로 3시에 가요.",
        "서울시 강남구에서 5시에 만나요.",
        "버스로 20분 걸려요.",
        "서울 지하철로 30분 걸립니다.",
        "부산 해운대구 도로 5개 폐쇄",
        "강남구 길 3개가 막혔어요.",
        "경기도 버스로 40분",
    ],
)
def test_what_only_looks_like_an_address_stays(text):
    assert REDACTOR.redact(text) == text
