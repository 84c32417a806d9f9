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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "INSERT INTO users (name, password) VALUES ('ann', 'dragon');",
            "INSERT INTO users (name, password) VALUES ('ann', '<SECRET>');",
        ),
        (
            "insert into users(id,login,pwd) values (1,'ann','Kite#44'),(2,'bob','monkey')",
            "insert into users(id,login,pwd) values (1,'ann','<SECRET>'),(2,'bob','<SECRET>')",
        ),
        (
            "INSERT INTO `app`.`user` (`api_token`, `n`)\nVALUES\n('abcd1234', 5),\n('efgh5678', 6);",
            "INSERT INTO `app`.`user` (`api_token`, `n`)\nVALUES\n('<SECRET>', 5),\n('<SECRET>', 6);",
        ),
        (
            "INSERT INTO [dbo].[Nguoi] (Ten, MatKhau) VALUES (N'Lan', N'meo12345')",
            "INSERT INTO [dbo].[Nguoi] (Ten, MatKhau) VALUES (N'Lan', N'<SECRET>')",
        ),
        (
            "INSERT INTO t (senha, nome) VALUES ('gato', 'Ana, a \"boa\"')",
            "INSERT INTO t (senha, nome) VALUES ('<SECRET>', 'Ana, a \"boa\"')",
        ),
    ],
)
def test_what_sql_inserts_into_columns_of_passwords_is_found(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO users (name, city) VALUES ('ann', 'Dragon12');",
        "INSERT INTO users (name, password) VALUES ('ann');",  # not as many cells as columns
        "INSERT INTO users (name, password) VALUES ($1, $2)",
        "INSERT INTO users (name, password) VALUES (?, ?)",
        "INSERT INTO users (name, password) VALUES ('ann', NULL)",
        "INSERT INTO users (name, password) SELECT name, 'dragon' FROM old",
        "INSERT INTO users (name, compass) VALUES ('ann', 'dragon')",
        "insert the values (name, password) into 'dragon'",
    ],
)
def test_what_sql_inserts_into_other_columns_stays(text):
    assert REDACTOR.redact(text) == text


@pytest.mark.parametrize(("sign", "rest"), [(",", "1\n"), ("\t", "1\n"), (";", "1\r\n")])
def test_a_heading_holds_until_a_row_has_another_number_of_cells(sign, rest):
    rows = [
        sign.join(cells)
        for cells in (("user", "password", "n"), ("bob", "{}", rest), ("end", rest), ("bob", "Kite44", rest))
    ]
    text = rows[0] + "\n" + "".join(rows[1:])
    assert REDACTOR.redact(text.format("Tulip44")) == text.format("<SECRET>")


def test_the_heading_is_carried_for_who_reads_on_without_it():
    recogniser = TableRecogniser()
    heading = "login,password\n"
    assert recogniser.carried(heading + "bob,Kite44\n") == heading
    assert recogniser.carried(heading + "that is all of it\n") == ""
    assert recogniser.carried("login,city\nbob,Rome\n") == ""
