import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers.address import AddressRecogniser

REDACTOR = Redactor(recognisers=[AddressRecogniser()])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("im at 14 oakfield rd leeds ls6 3bj u can come", "im at <ADDRESS> u can come"),
        ("its 2231 w 5th st apt 9 los angeles", "its <ADDRESS>"),
        ("ke jl cihampelas 143 bdg min", "ke <ADDRESS> min"),
        ("viale monza 122 milano ti aspetto", "<ADDRESS> ti aspetto"),
        ("jsuis au 27 rue de la republique marseille tu viens", "jsuis au <ADDRESS> tu viens"),
        ("bahcelievler 7. cad 41/9 ankara bi lahmacun", "<ADDRESS> bi lahmacun"),
        ("ship ve so 12 ngo 175 xuan thuy cau giay hn nha", "ship ve <ADDRESS> nha"),
        ("kantstr 91 hinterhaus 2. og berlin, klingel", "<ADDRESS>, klingel"),
        ("kinkerstraat 140 amsterdam", "<ADDRESS>"),
    ],
)
def test_a_city_in_small_letters_is_of_the_address_before_it(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "we flew to berlin and marseille in 2019",
        "12 days in ankara",
        "the rain on main st and london is wet",
        "wasserstraße 3 km lang",
        "jakarta 143 km dari bandung",
    ],
)
def test_cities_alone_stay(text):
    assert REDACTOR.redact(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("подъезжай на дмитровское ш 107 к3, жду", "подъезжай на <ADDRESS>, жду"),
        ("지금 봉은사로 45길 17 앞이야", "지금 <ADDRESS> 앞이야"),
        ("去軒尼詩道302號搵我", "去<ADDRESS>搵我"),
        ("住觀塘牛頭角道77號附近", "住<ADDRESS>附近"),
        ("забери с Тверской 18 к1, жду", "забери с <ADDRESS>, жду"),
        ("дом 5 по Садовой, подъезд крайний", "<ADDRESS>, подъезд крайний"),
        ("СНТ Ромашка, участок 118, ворота зелёные", "<ADDRESS>, ворота зелёные"),
        ("6 микрорайон, 24 дом, 56 квартира", "<ADDRESS>"),
        ("подъезд 3, этаж 5, квартира 77, Дыбенко 26", "<ADDRESS>"),
        ("corso Francia 212, quinto piano e mi è arrivata", "<ADDRESS> e mi è arrivata"),
        ("हम लोग 24, महात्मा गांधी मार्ग पर रहते हैं", "हम लोग <ADDRESS> पर रहते हैं"),
        ("my dorm is Whitman Hall, Room 318 now", "my dorm is <ADDRESS> now"),
        ("я в общежитии № 4, комната 512, заходи", "я в <ADDRESS>, заходи"),
        ("荷物は桜風寮2号館315室", "荷物は<ADDRESS>"),
        ("実家は松原4-7-21なんだけど", "実家は<ADDRESS>なんだけど"),
        ("我屋企喺沙田沙角邨雲雀樓1823室", "我屋企喺<ADDRESS>"),
        ("доставка: Самара, Ново-Садовая 181, оф. 7", "доставка: <ADDRESS>"),
        ("in Perumahan Griya Asri Blok D4 No. 11, ya", "in <ADDRESS>, ya"),
    ],
)
def test_streets_and_dormitories_are_found_as_people_name_them(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "La riunione è al piano 6, sala 2, alle 15:00",
        "회의는 5층 503호 회의실에서",
        "ประชุมห้อง 401 ชั้น 4 บ่าย",
        "the meeting is on floor 3, unit 12",
        "大家都知道77號是誰",
        "轉到體育頻道12號",
        "KTX로 2시간, 고속도로로 가면 220km",
    ],
)
def test_where_people_meet_nobody_lives(text):
    assert REDACTOR.redact(text) == text
