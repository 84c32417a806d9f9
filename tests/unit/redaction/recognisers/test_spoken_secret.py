import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import SpokenSecretRecogniser

REDACTOR = Redactor(recognisers=[SpokenSecretRecogniser()])
PASSWORD = "tr0ub4dor" + "&3"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"My password is {PASSWORD}.", "My password is <SECRET>."),
        ("my wifi password is opensesame", "my wifi password is <SECRET>"),
        ("the password for the door was opensesame, ok?", "the password for the door was <SECRET>, ok?"),
        (f'change my passphrase to "{PASSWORD}"', 'change my passphrase to "<SECRET>"'),
        ("My PIN is 4821", "My PIN is <SECRET>"),
        ("the verification code is 482113", "the verification code is <SECRET>"),
        (f"mật khẩu của tôi là {PASSWORD} nhé", "mật khẩu của tôi là <SECRET> nhé"),
        ("mã PIN là 4821", "mã PIN là <SECRET>"),
        (f"мой пароль {PASSWORD}", "мой пароль <SECRET>"),
        ("пароль от почты — opensesame", "пароль от почты — <SECRET>"),
        (f"我的密碼是{PASSWORD}，謝謝", "我的密碼是<SECRET>，謝謝"),
        ("密码为opensesame。", "密码为<SECRET>。"),
    ],
)
def test_told_passwords_are_found(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "My password is too long to remember",
        "your password is expired.",
        "the password is wrong",
        "I forgot my password again",
        "Mật khẩu của tôi là gì nhỉ?",
        "Mật khẩu phải có ít nhất 8 ký tự.",
        "я забыл пароль от Gmail.",
        "密碼必須至少8個字元。",
        "密碼是什麼？",
        "spinning is fun",
    ],
)
def test_sentences_about_passwords_stay(text):
    assert REDACTOR.redact(text) == text
