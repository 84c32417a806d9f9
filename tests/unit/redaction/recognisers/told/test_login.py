import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import LoginRecogniser

REDACTOR = Redactor(recognisers=[LoginRecogniser()])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("login: bob / Kite#4432", "login: bob / <SECRET>"),
        ("login is bob and kite4432b", "login is bob and <SECRET>"),
        ("creds: ann@example.com | Kite4432", "creds: ann@example.com | <SECRET>"),
        ("login bob:opensesame", "login bob:<SECRET>"),
        ("username/password: bob/opensesame", "username/password: bob/<SECRET>"),
        ("login details: bob, Kite#4432", "login details: bob, <SECRET>"),
        ("log in with bob and Kite#4432.", "log in with bob and <SECRET>."),
        ("creds are admin / password: Kite#4432", "creds are admin / password: <SECRET>"),
        ("tài khoản/mật khẩu: lan / Meo@12345", "tài khoản/mật khẩu: lan / <SECRET>"),
        ("tk/mk: lan/meo12345", "tk/mk: lan/<SECRET>"),
        ("đăng nhập bằng lan và Meo@12345", "đăng nhập bằng lan và <SECRET>"),
        ("логин/пароль: ivan / Kotik#44", "логин/пароль: ivan / <SECRET>"),
        ("логин ivan пароль Kotik44", "логин ivan пароль <SECRET>"),
        ("账号密码：wang / Panda#09", "账号密码：wang / <SECRET>"),
        ("帳密：wang/Panda#09", "帳密：wang/<SECRET>"),
        ("Zugangsdaten: jan / Sommer#44", "Zugangsdaten: jan / <SECRET>"),
        ("identifiants : luc / Soleil#44", "identifiants : luc / <SECRET>"),
    ],
)
def test_the_password_of_a_pair_is_found(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bob/Hunter_2", "bob/<SECRET>"),
        ("admin/Kite#4432", "admin/<SECRET>"),
        ("then root/Kite#4432\nand go on", "then root/<SECRET>\nand go on"),
    ],
)
def test_a_pair_that_is_all_of_a_message_or_of_an_administrator_needs_no_word(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "login page / settings",
        "login: https://example.com/a",
        "login with Google or Facebook",
        "log in with email and password",
        "login: user=bob action=4432",
        "login bob 10.1.2.3 / 10.1.2.4",
        "login failed for bob at 12:30",
        "login and logout",
        "login: bob / admin",
        "credentials: read/write",
        "username and password are required",
        "User: Ann: Thanks, that helps",
        "User: Note: don't forget the milk",
        "bob/settings",
        "src/App_2",  # all of a message, with too few characters
        "see bob/Hunter_2 for more",
        "docs/Chapter_2.md and more",
        "tk/mk là gì",
        "tài khoản / mật khẩu bắt buộc",
        "логин и пароль обязательны",
        "вход / выход",
        "账号密码登录",
    ],
)
def test_what_only_looks_so_stays(text):
    assert REDACTOR.redact(text) == text
