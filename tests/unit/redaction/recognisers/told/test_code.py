import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import ToldCodeRecogniser

REDACTOR = Redactor(recognisers=[ToldCodeRecogniser()])


@pytest.mark.parametrize(
    ("text", "expected"),
    [  # wordings of banks and services in their text messages
        ("My PIN is 4821", "My PIN is <SECRET>"),
        ("my debit card's PIN number is 4821", "my debit card's PIN number is <SECRET>"),
        ("the verification code is 482113", "the verification code is <SECRET>"),
        ("482113 is your Google security code", "<SECRET> is your Google security code"),
        ("Enter 482113 to verify your account", "Enter <SECRET> to verify your account"),
        ("Use code 482 113 to log in", "Use code <SECRET> to log in"),
        ("the door code is 4821", "the door code is <SECRET>"),
        ("exp 12/27 cvv 123", "exp 12/27 cvv <SECRET>"),
        ("mã PIN là 4821", "mã PIN là <SECRET>"),
        ("mã OTP của tôi là 482113", "mã OTP của tôi là <SECRET>"),
        ("482113 là mã xác minh của bạn", "<SECRET> là mã xác minh của bạn"),
        ("nhập mã 482113 để xác nhận", "nhập mã <SECRET> để xác nhận"),
        ("mã CVV 123", "mã CVV <SECRET>"),
        ("код из смс 4829", "код из смс <SECRET>"),
        ("Ваш код: 482113. Никому его не говорите", "Ваш код: <SECRET>. Никому его не говорите"),
        ("мой пин-код 4821", "мой пин-код <SECRET>"),
        ("код от домофона 4821", "код от домофона <SECRET>"),
        ("482113 — ваш код подтверждения", "<SECRET> — ваш код подтверждения"),
        ("код CVV 123", "код CVV <SECRET>"),
        ("驗證碼是482113", "驗證碼是<SECRET>"),
        ("您的验证码为482113，5分钟内有效", "您的验证码为<SECRET>，5分钟内有效"),
        ("482113是您的验证码", "<SECRET>是您的验证码"),
        ("手機解鎖密碼4821", "手機解鎖密碼<SECRET>"),
        ("信用卡安全碼：123", "信用卡安全碼：<SECRET>"),
    ],
)
def test_values_are_found(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "code 404 means not found",
        "error code is 1045",
        "my zip code is 35350",
        "Your one-time code has 6 digits",
        "The PIN pad was built in 1994",
        "the code is 12000 lines long",
        "source code: 120000 lines",
        "pin 5000mAh dùng cả ngày",
        "mã PIN gồm 4 số",
        "mã OTP hết hạn sau 300 giây",
        "mã bưu điện 700000",
        "код ошибки 4040",
        "код состоит из 6 цифр",
        "код города 495",
        "錯誤碼 1045",
        "驗證碼5分鐘內有效",
        "验证码是6位数字",
        "優惠碼2024",
        "the OTP expires in 3600 seconds",
    ],
)
def test_what_only_looks_so_stays(text):
    assert REDACTOR.redact(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [  # as services and people send them
        ("150443 la ma xac thuc cua ban", "<SECRET> la ma xac thuc cua ban"),
        ("nó gửi mã 535762 về máy", "nó gửi mã <SECRET> về máy"),
        ("Никому не говорите код 628729!", "Никому не говорите код <SECRET>!"),
        ("891420 是您的 LINE 認證碼", "<SECRET> 是您的 LINE 認證碼"),
        ("短信发来的码是045656", "短信发来的码是<SECRET>"),
        ("SIM PUK 42403759", "SIM PUK <SECRET>"),
    ],
)
def test_codes_of_messages_are_found(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "150443 la so luong",
        "nó gửi mã 3 lần về máy",
        "Никому не говорите об этом 628729",
        "891420 是我的学号",
        "验证码是多少 上证指数收于3312点，成交8210亿元",
        "puk is blocked after 10 tries",
    ],
)
def test_numbers_near_words_for_codes_stay(text):
    assert REDACTOR.redact(text) == text
