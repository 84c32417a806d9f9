import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import NATIONAL_IDS

REDACTOR = Redactor(recognisers=NATIONAL_IDS)


def check(text):
    before, rest = text.split("⟦")
    assert REDACTOR.redact(text.replace("⟦", "").replace("⟧", "")) == f"{before}<NATIONAL_ID>{rest.split('⟧')[1]}"


@pytest.mark.parametrize(
    "text",
    [  # specimens that authorities publish, or numbers made up to the formula
        "SSN: ⟦219-09-9999⟧",
        ",⟦845-19-1438⟧,Marketing",  # never assigned, as made-up ones are
        "⟦219 09 9999⟧ ok",
        'my SSN is {"to": "⟦2 1 9 0 9 9 9 9 9⟧"}',
        "ssn=⟦219099999⟧&x",
        "номер⟦219 09 9999⟧запомни",
        "abc⟦219-09-9999⟧xyz",
        "EIN: ⟦61-4982372⟧",
        "(⟦AB 12 34 56 C⟧)",
        "NINO ⟦QQ 12 34 56 C⟧",
        "(⟦ab123456c⟧)",
        "my NHS no. is ⟦943 476 5919⟧",
        "⟦MORGA657054SM9IJ⟧",
        "số CCCD của tôi là ⟦079 203 012 345⟧",
        "_⟦001195159583⟧_",
        "Bạn ghi lại ⟦017075476⟧ nha",
        "CMND: ⟦380363568⟧",
        "ok ⟦S1234567D⟧ thanks",  # made up to the formulas from here
        "NRIC ⟦S1234567A⟧",
        "号码⟦1234567FA⟧记一下",
        "my PPSN is ⟦1234567AB⟧",
        "TFN: ⟦123 456 780⟧",
        "⟦123 456 782⟧ is my TFN",
        "SIN ⟦046-454-286⟧",
        "SIN ⟦123 456 789⟧",
        "meine SVNR: ⟦4980 140962⟧",
        "notiere ⟦15 070649 C 103⟧",
        "SV-Nummer ⟦65 990080 M 012⟧",
        "вот ⟦6601615B072PB7⟧ пиши",
        "личный номер ⟦6601615B072XX7⟧",
        "记住⟦850101300005⟧好",
        "мой ИИН: ⟦840309476600⟧",
        "вот ІПН: ⟦2988795330⟧",
        "паспорт ⟦КМ 123456⟧",
        "военный билет ⟦АН № 1234567⟧",
        "свидетельство ⟦V-АК № 138310⟧ есть",
        "водительские права ⟦77 ОК 113080⟧",
        "ЕНП ⟦7452307212695570⟧",
        "⟦71 1234567⟧ загран",
        "серия/номер ⟦2119 496390⟧",
        "⟦7419 496390⟧ ок",
        "bằng lái xe số ⟦790123456780⟧",
        "BHYT ⟦DN4797618568280⟧",
        "军官证 ⟦军字第8168290号⟧，请",
        "就是⟦91350100M000100Y43⟧这个",  # GB 32100, annex
        "⟦7117080(9)⟧是我的澳門身份證",
        "CNI : ⟦588404108389⟧",
        "carte d'identité n° est ⟦795015772071⟧",
        "pues ⟦23.936.385-D⟧",
        "저는 ⟦9001011234568⟧ 입니다",
        "면허번호: ⟦26-12-455442-03⟧",
        "사업자등록번호: ⟦372-46-62796⟧",
        "⟦512345670⟧ is my passport number",
        "⟦47-8845290⟧ is my EIN",
        "⟦512345670⟧, that's my passport",
        "⟦212345670⟧ (my SSN)",
        "there is a typo in my passport number, the correct one is ⟦512345670⟧",
        "⟦500100732250⟧ мой ИНН",
        "СНИЛС неверный, должно быть ⟦11223344500⟧",
        "护照号写错了，是⟦305332960⟧",
        "⟦305332960⟧ 我的护照",
        "I typed the passport number wrong, it should be ⟦305332960⟧",
        "⟦7912345670⟧ là số BHXH của em",
        "⟦386747990⟧ là CMND của mình",
        "sửa CMND thành ⟦386747990⟧ giúp em",
        "⟦4504-472187⟧ — это паспорт",
        "⟦4504472187⟧ паспорт",
        "⟦02660920⟧是我的台胞證",
        "护照应该是⟦305332960⟧才对",
        "em gửi cccd ⟦031291142129⟧ để làm thẻ",
        "cccd ⟦001190982749⟧ đây",
        "身份证⟦440524188001010014⟧元旦办的",
        "ИНН ⟦500100732259⟧ рубит",
        "hộ chiếu ⟦B9584094⟧",
        "MST: ⟦0101243150-001⟧",
        "⟦4504 472187⟧",
        "паспорт серия ⟦45 10 № 123456⟧",
        "паспорт ⟦4504472187⟧",
        "_⟦112-233-445 95⟧_",  # https://ru.wikipedia.org/wiki/СНИЛС
        "СНИЛС ⟦112-233-445 96⟧",  # a typing error
        "Привет, ⟦500100732259⟧ спасибо",  # https://ru.wikipedia.org/wiki/ИНН
        "ИНН ⟦7707083893⟧",
        "полис ОМС ⟦1234567890123456⟧",
        "記住⟦A123456789⟧喔",
        "身分證 ⟦a123456789⟧",
        "居留證號⟦AC01234567⟧",
        "護照號碼⟦110379607⟧",
        "健保卡號⟦000012345678⟧",
        "⟦11010519491231002X⟧是我的",  # GB 11643, annex
        "身份证 ⟦440524188001010014⟧",
        "⟦A123456(3)⟧",
        "台胞证⟦12345678⟧",
        "Steuer-ID ⟦86 095 742 719⟧",
        "notez ⟦2 55 08 14 168 025 38⟧ svp",  # https://fr.wikipedia.org, numéro de sécurité sociale
        "⟦1234 5678 9018⟧を覚えて",
        "⟦900710-2110105⟧ 입니다",
        "recuerda ⟦12345678Z⟧",
        "⟦RSSMRA85T10A562S⟧",
        "PESEL ⟦44051401359⟧",
        "⟦529.982.247-25⟧",
        "⟦2341 2341 2346⟧",
        "⟦ABCPE1234F⟧",
        "⟦HEGG560427MVZRRL04⟧",
    ],
)
def test_ids_are_found(text):
    check(text)


@pytest.mark.parametrize(
    "text",
    [
        "passport no. ⟦C79745814⟧;",
        '{"passportNumber": "⟦N1234567⟧"}',
        "my driver's license number is ⟦2270-66-1551⟧",
        "Insurance: ⟦NID-900184135⟧.",
        "|⟦P9T124459⟧|x",
        "License: ⟦DL-Z21985-85⟧ |",
        "shows ⟦D123-4567-8901⟧.",
        "giấy phép lái xe số ⟦790123456789⟧",
        "водительское удостоверение ⟦77 12 123456⟧",
        "驾驶证号 ⟦110105194912310021⟧",
    ],
)
def test_documents_are_found_by_words_and_common_forms(text):
    check(text)


@pytest.mark.parametrize(
    "text",
    [
        "The speed of light is 299792458 m/s.",
        "8919878733 это не паспорт, серия 1234567890, II-ОЙ 123456",
        "the Medicare budget is 1234567890",
        "part S1234567A, item 1234567BA, 123-456-789",
        "15 070649 C 104, 5551234(1), 25.12.2024 100 M 200",
        "2988795330, 4980 140962, 123 456 780",
        "6601615B072XX7, 7601615B072PB7",
        "841309476600, 91350100M000100Y44",
        "9001011234567, 9013011234568",
        "АН № 1234567, 77 ОК 113080",
        "第8168290号, 文件字第12345678号",
        "the fee is wrong, it should be 512345670",
        "512345670 (members), 512345670 мой любимый ряд, 305332960 我的钱",
        "金额写错了，是305332960",
        "512345670 is my passport fee, 512345670 is my favourite",
        "512345670 is my phone, not my passport",
        "386747990 là số tiền; CMND 386747990 đồng, ИНН 5001007320 рублей",
        "sửa giá thành 386747990",
        "4504472187 это много, паспорт потом",
        "5123456是我的電話，護照在家",
        "He scored 24-17-31, final 103-98.",
        "part no. 90-1234-5678-01 rev C",
        "EAN 4006381333931, ISBN 978-3-16-148410-0",
        "Timestamps 1700000000 and 1712345678901",
        "Order #123456789012 and tracking 1Z999AA10123456784",
        "gpt-4o-2024-08-06, claude-3-5-sonnet-20241022",
        "1024 2048 4096, 1990 2000 2010",
        "1 2 3 4 5 6 7 8 9 10 11 12 13",
        "paid 250000 a year, or 123456 a month",
        "passport photo, 35x45 mm; passport costs 130000 won, expires in 2027",
        "the visa fee is 18500 for 90 days",
        "48.858370, 2.294481",
        "IMG_20240517_123045.jpg",
        "KB5034441 and PO1234567",
        "Đơn hàng số 240517ABC123; giá 1.250.000 đồng",
        "Hộ chiếu của tôi hết hạn năm 2027, phí 200000 đồng",
        "Thông tin 123456789",
        "Номер заказа 58392017-0001 в пути",
        "Паспорт выдан 12.05.2010, стоит 5000 рублей",
        "Passports of 12500 people, 48000 visas; NHS budget 1528000000 pounds",
        "cấp thị thực cho 45000 người, hộ chiếu cho 1250000 người",
        "Визы получили 45000 человек, права есть у 60000000 россиян",
        "簽證發出1250000份，駕照持有人15000000人",
        "2450 3120 1870",
        "старинный дом 1234567890",
        "訂單編號202405171234已出貨",
        "統一發票中獎號碼12345678",
        "護照2027年到期，費用1300元",
        "1234567890是連續數字",
    ],
)
def test_other_numbers_stay(text):
    assert REDACTOR.redact(text) == text


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("500100732259", "500100732258"),
        ("112-233-445 95", "112-233-445 94"),
        ("11010519491231002X", "110105194912310021"),
        ("a123456789", "a123456788"),
        ("86095742719", "86095742718"),
        ("12345678Z", "12345678A"),
        ("44051401359", "44051401358"),
        ("52998224725", "52998224724"),
        ("A123456(3)", "A123456(4)"),
        ("2341-2341-2346", "2341-2341-2345"),
    ],
)
def test_check_digits_decide_where_nothing_else_speaks(right, wrong):
    assert REDACTOR.redact(right) == "<NATIONAL_ID>"
    assert REDACTOR.redact(wrong) == wrong
