import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers.address import VietnameseAddressRecogniser

REDACTOR = Redactor(recognisers=[VietnameseAddressRecogniser()])


@pytest.mark.parametrize(
    ("before", "address", "after"),
    [  # số nhà, ngõ, đường, phường, quận, thành phố: decree 123/2024, and how people write them
        ("tôi ở ", "12 Nguyễn Huệ, Quận 1, TP.HCM", ""),
        ("nhà mình ở ", "số 5 ngách 12 ngõ 34 phố Kim Mã, Ba Đình, Hà Nội", ""),
        ("ship về ", "45/2A Lê Văn Sỹ, phường 13, quận 3, Thành phố Hồ Chí Minh", " nha"),
        ("địa chỉ: ", "123 duong Nguyen Trai, phuong 5, quan 5, TP HCM", ""),
        ("gửi đến ", "số 8 đường 3/2, phường 12, quận 10", ""),
        ("giao tới ", "hẻm 45, 67/8 Phan Đình Phùng, P.2, Q. Phú Nhuận, TP. Hồ Chí Minh", " nhé"),
        ("Địa chỉ nhà: ", "thôn 3, xã Ea Kao, TP. Buôn Ma Thuột, tỉnh Đắk Lắk", ""),
        ("mình ở ", "căn hộ A12-05, chung cư Vinhomes Central Park, 208 Nguyễn Hữu Cảnh, Bình Thạnh", ""),
        ("em ở ", "255/14 trần hưng đạo, p8, quận 5", ""),
        ("so nha em la ", "so 17 ngo 93 Hoang Quoc Viet, Cau Giay, Ha Noi", ""),
        ("gửi về ", "35 Lý Thường Kiệt, phường Trần Hưng Đạo, quận Hoàn Kiếm, Hà Nội, Việt Nam", ""),
        ("", "Số nhà 21, đường Trần Phú, phường Lộc Thọ, thành phố Nha Trang, tỉnh Khánh Hòa", ""),
        ("tới ", "Tầng 5, tòa nhà Bitexco, 2 Hải Triều, Bến Nghé, Quận 1", " gặp nhé"),
        ("", "99 Võ Văn Tần, P.6, Q.3", ""),
    ],
)
def test_addresses_are_found_from_end_to_end(before, address, after):
    assert REDACTOR.redact(before + address + after) == f"{before}<ADDRESS>{after}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我住在12 Nguyễn Huệ, Quận 1, TP.HCM。", "我住在<ADDRESS>。"),
    ],
)
def test_words_of_other_scripts_may_touch_it(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Tôi sống ở Hà Nội.",
        "Đường phố hôm nay rất đông.",
        "Hà Nội có 30 quận huyện.",
        "Tôi ăn 500g đường và 2 quả trứng.",
        "Có 3 đường đi tới chợ.",
        "Quận 1 có 10 phường.",
        "Mình đi 5 quán cà phê ở Quận 3.",
        "Lớp 12 Trần Phú thi xong rồi.",
        "Số 7 Cristiano Ronaldo đá hay lắm.",
        "Số 10 Lionel Messi là huyền thoại.",
        "Công ty số 1 Việt Nam về sữa.",
        "Năm 2024 Việt Nam tăng trưởng 7%.",
        "Ngày 30/4 Sài Gòn rất vui.",
        "Ngày 2/9 Hà Nội bắn pháo hoa, đông lắm.",
        "Ngày 17/5 Nguyễn Văn A tới thăm.",
        "Phòng 402 họp lúc 12:30.",
        "Cuộc họp lúc 12:30 ngày 17/05/2024 ở phòng 402.",
        "Tầng 5 có thang máy.",
        "Tôi có 3 căn hộ cho thuê.",
        "Gia đình tôi có 4 người, sống ở Đà Nẵng.",
        "Quốc lộ 1A kẹt xe.",
        "Đường số 5 rất dài.",
        "Phố đi bộ Nguyễn Huệ mở lúc 18h.",
        "Mua 2 ly ở Phúc Long, Quận 1.",
        "12 Cung Hoàng Đạo nói gì?",
        "Top 10 Hoa Hậu Việt Nam, Hà Nội.",
        "Bài 3 Tây Tiến của Quang Dũng",
        "Mã số 12 Anh Tuấn nhé.",
        "Tháng 5 Hà Nội nóng.",
        "Tổ 3 lớp 5A làm bài rồi.",
        "Tuyến 32 Nhổn đi Giáp Bát",
        "Có 5 Thành phố trực thuộc trung ương.",
        "số 3 phố bên kia",
        "lúc 5 giờ ở phố Huế",
        "Đi bộ 10 phút tới phố Huế, Hà Nội",
        "Hẹn 7 Tối ở Hồ Gươm",
        "5 Anh Em Siêu Nhân",
        "Ngõ 5 tối quá.",
        "Anh ấy đứng số 1 thế giới.",
        "Chương 7 Đường về nhà",
        "Hôm nay 2 Phường họp.",
        "Xe 16 chỗ đi Đà Lạt, Nha Trang.",
        "Liên hệ phòng 5 tầng 3.",
        "Ở tầng 3 phòng 5 có máy in.",
        "Mình học lớp 12 ở trường Lê Quý Đôn, Đà Nẵng.",
        "Tôi làm ở 2 công ty, Hà Nội và Huế.",
        "Trận đấu 3-2 Việt Nam thắng Thái Lan.",
        "Năm 1975 Sài Gòn giải phóng.",
        "Còn 15 phút nữa tới Huế.",
        "Hôm nay 35 độ, Hà Nội nóng quá.",
        "Chị Lan 30 tuổi, quận 3, làm kế toán.",
        "Tập 5 Cô Gái, phim hay lắm.",
        "Đội 2 Trần Văn Bình thắng.",
        "Vé số 12 Hải Phòng trúng.",
        "Tỷ số 2/1 Hà Nội thắng.",
        "1/3 Dân Số Việt Nam là trẻ.",
        "Phở 24 Nguyễn Huệ đóng cửa rồi.",
        "Sinh ngày 12/5 Hà Nội, thích nhạc.",
        "Ca sĩ số 3 Trần Thanh, đội Huế.",
        "Ngã tư Hàng Xanh kẹt xe, 30 phút.",
        "tổ 5 người, phường hỗ trợ",
        "khu 3 có chợ",
    ],
)
def test_what_only_looks_like_an_address_stays(text):
    assert REDACTOR.redact(text) == text
