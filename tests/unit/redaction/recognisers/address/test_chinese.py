import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers.address import ChineseAddressRecogniser

REDACTOR = Redactor(recognisers=[ChineseAddressRecogniser()])


@pytest.mark.parametrize(
    ("before", "address", "after"),
    [  # order of the parts: Chunghwa Post; GB/T 23705 on the mainland
        ("我家在", "台北市信義區市府路1號", ""),
        ("請寄到", "10048台北市中正區重慶南路一段122號", "，謝謝"),
        ("我住", "新竹市東區光復路二段101號5樓之3", "喔"),
        ("地址：", "高雄市前鎮區中華五路789號12樓", ""),
        ("我住在", "北京市朝阳区建国路88号3栋2单元501室", "，欢迎来"),
        ("送到", "上海市浦东新区世纪大道100号", "吧"),
        ("收件地址：", "广东省深圳市南山区科技园南区深南大道9988号", ""),
        ("住", "杭州市西湖区文三路478号华星时代广场A座1203室", ""),
        ("我家是", "阳光花园小区5栋2单元301室", ""),
        ("", "桃園市中壢區中大路300號", ""),
        ("寄去", "台中市北區學士路91巷12弄5號", "就好"),
        ("", "忠孝東路四段一百二十號七樓", ""),
        ("", "延安西路1234弄5号602室", ""),
        ("", "1F., No. 7, Sec. 5, Xinyi Rd., Xinyi Dist., Taipei City 110", ""),
        ("", "辽宁省沈阳市和平区长寿街E座 123456", ""),
    ],
)
def test_addresses_are_found_from_end_to_end(before, address, after):
    assert REDACTOR.redact(before + address + after) == f"{before}<ADDRESS>{after}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("адрес 台北市信義區市府路1號5樓, да", "адрес <ADDRESS>, да"),
        ("I live at 台北市信義區市府路1號5樓 now", "I live at <ADDRESS> now"),
    ],
)
def test_words_of_other_scripts_may_touch_it(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "我昨天在忠孝東路逛街。",
        "我在台北市信義區上班。",
        "台北市很熱。",
        "我們5號見面。",
        "10月5號我去台北路過台中。",
        "搭5號線到南京西路站",
        "公車307號很慢",
        "捷運忠孝復興站3號出口等我",
        "第3章第12節第1小節",
        "我住3樓，他住5樓。",
        "王建民40號是我的偶像。",
        "他穿23號球衣在路上跑。",
        "這條路有3號公車。",
        "請走5號國道",
        "走國道1號比較快。",
        "走高速公路3號出口",
        "我在路邊等5號公車",
        "他路上遇到3號選手",
        "這條街1號生意最好",
        "我家3棟房子都出租了。",
        "我买了2栋楼。",
        "第3期课程开始了。",
        "3号楼在哪里？",
        "我在5号楼等你。",
        "车牌号是京A12345",
        "订单号123456",
        "手机号13800138000",
        "一号店很有名",
        "二号线地铁人很多",
        "我住在北京市朝阳区。",
        "今天是5月20号，路上很堵。",
        "明天15號里民大會",
        "道路施工到25號",
        "星期五18號在村里辦活動",
        "我10號去中山路買衣服，20號回來。",
        "我知道1号是谁",
        "公司第1號員工",
        "城市里3号病人确诊",
        "路透社5號報導",
        "他的号码是3号。",
        "這是1號路由器。",
        "第2期工程5號完工",
        "三号楼和五号楼都满了",
        "高雄5號風球",
        "他在路口3號出口",
        "请到3号窗口",
        "广场5号门集合",
        "城中村5号",
        "她住在中山路附近。",
        "我在大街上走了3号线",
        "1期",
        "北京大学3号楼真漂亮",
    ],
)
def test_what_only_looks_like_an_address_stays(text):
    assert REDACTOR.redact(text) == text
