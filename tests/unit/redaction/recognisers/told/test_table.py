import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import TableRecogniser

REDACTOR = Redactor(recognisers=[TableRecogniser()])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("| user | password |\n|---|---|\n| bob | dragon |", "| user | password |\n|---|---|\n| bob | <SECRET> |"),
        ("login,password\nbob,Tulip!09x\nann,Kite#44", "login,password\nbob,<SECRET>\nann,<SECRET>"),
        ("username;password\r\nbob;Kite#44", "username;password\r\nbob;<SECRET>"),
        ("site\tlogin\tпароль\nvk\tivan\tKite44", "site\tlogin\tпароль\nvk\tivan\t<SECRET>"),
        ("tài khoản,mật khẩu\nlan,Meo@12345", "tài khoản,mật khẩu\nlan,<SECRET>"),
        ("账号,密码\n小王,abc12345", "账号,密码\n小王,<SECRET>"),
        # https://github.com/zxing/zxing/wiki/Barcode-Contents
        ("WIFI:T:WPA;S:Home;P:sunny2183x;;", "WIFI:T:WPA;S:Home;P:<SECRET>;;"),
        ("扫码WIFI:S:Home;T:WPA;P:sunny;H:false;;", "扫码WIFI:S:Home;T:WPA;P:<SECRET>;H:false;;"),
    ],
)
def test_values_are_found(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "| field | type |\n|---|---|\n| password | string |",
        "| user | password |\n|---|---|\n| string | required |",
        "name, password\nfoo, Bar12345",
        "login,password",
        "login,password\nthat is all 12345 of it",
        "tên,tuổi\nlan,12345a",
        "логин,город\nivan,Moskva1",
        "账号,城市\n小王,abc12345",
        "WIFI: connected",
        "WIFI:T:WPA;S:Home;;",
    ],
)
def test_what_only_looks_so_stays(text):
    assert REDACTOR.redact(text) == text
