import time

import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers.names.chinese import ChineseNameRecogniser
from discreet.redaction.recognisers.names.english import EnglishNameRecogniser
from discreet.redaction.recognisers.names.vietnamese import VietnameseNameRecogniser

RECOGNISERS = {"en": EnglishNameRecogniser, "vi": VietnameseNameRecogniser, "zh": ChineseNameRecogniser}


def redacted(language, text):
    return Redactor(recognisers=[RECOGNISERS[language]()]).redact(text)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "Hi, my name is Ann Smith.", "Hi, my name is <PERSON>."),
        ("en", "my name is ann smith and I wait", "my name is <PERSON> and I wait"),
        ("en", "I'm Zofia Brandt from Leeds", "I'm <PERSON> from Leeds"),
        ("en", "I'm Ann.", "I'm <PERSON>."),
        ("en", "Ask for Dr. Brandt.", "Ask for Dr. <PERSON>."),
        ("en", "Name: Vanessa P. Van der Berg\nCity: Rome", "Name: <PERSON>\nCity: Rome"),
        ("en", "See you.\n\nBest regards,\nZofia Brandt", "See you.\n\nBest regards,\n<PERSON>"),
        ("en", "Dear Zofia,\nhello", "Dear <PERSON>,\nhello"),
        ("en", "Dear Sir or Madam,\nhello", "Dear Sir or Madam,\nhello"),
        ("en", "I'm Sorry about that", "I'm Sorry about that"),
        ("en", "I'm German and my name is spelled wrong", "I'm German and my name is spelled wrong"),
        ("en", "File name: Annual Figures Draft", "File name: Annual Figures Draft"),
        ("en", "Jane Austen wrote it, said Ann", "Jane Austen wrote it, said Ann"),
        ("vi", "Tên tôi là Nguyễn Văn An.", "Tên tôi là <PERSON>."),
        ("vi", "toi la nguyen van an ben kho", "toi la <PERSON> ben kho"),
        ("vi", "Họ tên: Đặng Thu Hà, Huế", "Họ tên: <PERSON>, Huế"),
        ("vi", "Chị Lê Thị Mai gọi lại", "Chị <PERSON> gọi lại"),
        ("vi", "Tên tôi là gì?", "Tên tôi là gì?"),
        ("vi", "Anh Phạm lỗi thì xin lỗi", "Anh Phạm lỗi thì xin lỗi"),
        ("vi", "Đường Nguyễn Huệ đông", "Đường Nguyễn Huệ đông"),
        ("zh", "你好，我叫王小明。", "你好，我叫<PERSON>。"),
        ("zh", "姓名：歐陽建國\n", "姓名：<PERSON>\n"),
        ("zh", "我是李雷，财务部", "我是<PERSON>，财务部"),
        ("zh", "王女士要退款", "<PERSON>女士要退款"),
        ("zh", "我是高中生，我叫了外卖", "我是高中生，我叫了外卖"),
        ("zh", "我是白羊座。王府井怎么走？", "我是白羊座。王府井怎么走？"),
    ],
)
def test_names_that_are_introduced_go_and_other_words_stay(language, text, expected):
    assert redacted(language, text) == expected


@pytest.mark.fast_cases(4)
@pytest.mark.parametrize("language", RECOGNISERS)
@pytest.mark.parametrize(
    "piece",
    ["my name is ", "Ann ", "A. ", "A'A-", "tên tôi là Lê ", "Lê Lê ", "我叫", "王", "dear Ann,\n", "regards \n", "\n"],
)
def test_hostile_texts_take_linear_time(language, piece):
    recogniser = RECOGNISERS[language]()
    redactor = Redactor(recognisers=[recogniser])
    redactor.findings("Ann")
    began = time.process_time()
    redactor.findings(piece * (50_000 // len(piece)))
    assert time.process_time() - began < 3


@pytest.mark.parametrize("language", RECOGNISERS)
def test_the_end_of_a_long_text_is_what_may_go_on(language):
    recogniser = RECOGNISERS[language]()
    assert recogniser.open_from("short") == 0
    assert 0 < recogniser.open_from("x" * 1000) < 1000
