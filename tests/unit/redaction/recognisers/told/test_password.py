import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import AroundRecogniser, LoginRecogniser, PasswordRecogniser

REDACTOR = Redactor(recognisers=[AroundRecogniser(), LoginRecogniser(), PasswordRecogniser()])
PASSWORD = "tr0ub4dor" + "&3"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"My password is {PASSWORD}.", "My password is <SECRET>."),
        (f"ValueError('My password is {PASSWORD}')", "ValueError('My password is <SECRET>')"),
        (f'RuntimeError("refused: my password is {PASSWORD}")', 'RuntimeError("refused: my password is <SECRET>")'),
        ("my wifi password is opensesame", "my wifi password is <SECRET>"),
        ("the password for the door was opensesame, ok?", "the password for the door was <SECRET>, ok?"),
        (f'change my passphrase to "{PASSWORD}"', 'change my passphrase to "<SECRET>"'),
        (f"mật khẩu của tôi là {PASSWORD} nhé", "mật khẩu của tôi là <SECRET> nhé"),
        (f"мой пароль {PASSWORD}", "мой пароль <SECRET>"),
        ("пароль от почты — opensesame", "пароль от почты — <SECRET>"),
        (f"我的密碼是{PASSWORD}，謝謝", "我的密碼是<SECRET>，謝謝"),
        ("密码为opensesame。", "密码为<SECRET>。"),
        (f"my password for 1Password is {PASSWORD}", "my password for 1Password is <SECRET>"),
        (f"the password to my laptop is {PASSWORD} now", "the password to my laptop is <SECRET> now"),
        (f"login: bob / {PASSWORD}", "login: bob / <SECRET>"),
        (f"creds are admin/{PASSWORD}", "creds are admin/<SECRET>"),
        (f"{PASSWORD} is my password", "<SECRET> is my password"),
        ("opensesame is my password", "<SECRET> is my password"),
        ('my password is "open the big door"', 'my password is "<SECRET>"'),
        ("passphrase: marble lantern cookie", "passphrase: <SECRET>"),
        (f"Use {PASSWORD} as the password.", "Use <SECRET> as the password."),
        (f"pass wifi nhà em là {PASSWORD} nhé", "pass wifi nhà em là <SECRET> nhé"),
        (f"{PASSWORD} là mật khẩu của tôi", "<SECRET> là mật khẩu của tôi"),
        ("tài khoản admin, mật khẩu opensesame", "tài khoản admin, mật khẩu <SECRET>"),
        (f"логин/пароль: admin/{PASSWORD}", "логин/пароль: admin/<SECRET>"),
        ("пароль для входа opensesame", "пароль для входа <SECRET>"),
        (f"{PASSWORD} — это мой пароль", "<SECRET> — это мой пароль"),
        (f"账号密码：admin / {PASSWORD}", "账号密码：admin / <SECRET>"),
        (f"{PASSWORD}是我的密碼", "<SECRET>是我的密碼"),
        ("my API key is " + "a1b2c3d4" * 4, "my API key is <SECRET>"),
        ("khóa bí mật " + "a1b2c3d4" * 4, "khóa bí mật <SECRET>"),
        ("токен доступа — " + "a1b2c3d4" * 4, "токен доступа — <SECRET>"),
        ("使用密钥" + "a1b2c3d4" * 4 + "调用", "使用密钥<SECRET>调用"),
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
        "My password manager is Bitwarden",
        "the password reset link has expired",
        "The passcode requirement was dropped",
        "Barcelona pass accuracy 91%",
        "The mountain pass is 2300m high",
        "the access token lifetime is 3600",
        "enter your username / password below",
        "user: alice, role: admin",
        '<label for="password">Password</label>',
        "quên mật khẩu facebook",
        "Mật khẩu được mã hóa bằng AES-256",
        "пароль от 8 до 16 символов",
        "забыл пароль от Netflix",
        "密碼管理器推薦1Password",
        "密碼長度為8到16位",
    ],
)
def test_sentences_about_passwords_stay(text):
    assert REDACTOR.redact(text) == text
