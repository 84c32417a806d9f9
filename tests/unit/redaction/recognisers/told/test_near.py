import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import NearRecogniser

REDACTOR = Redactor(recognisers=[NearRecogniser()])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("type sunshine4821 and that's the passphrase", "type <SECRET> and that's the passphrase"),
        ("the password? there it was, kite#4432b", "the password? there it was, <SECRET>"),
        ("my old password was on the note: castle_Silver68", "my old password was on the note: <SECRET>"),
        ("password, if you ask: marble-lantern-cookie-velvet", "password, if you ask: <SECRET>"),
        ("mật khẩu hả, chờ xíu, nó đây: conmeo4821", "mật khẩu hả, chờ xíu, nó đây: <SECRET>"),
        ("пароль я записал на бумажке, вот: kotik4821", "пароль я записал на бумажке, вот: <SECRET>"),
        ("密码我记得是panda4821吧", "密码我记得是<SECRET>吧"),
        ("パスワードはたしかsakura4821だった", "パスワードはたしか<SECRET>だった"),
        ("비밀번호가 뭐였지, sarang4821 였나", "비밀번호가 뭐였지, <SECRET> 였나"),
        ("ein Passwort, das ich mir merke: sommer4821", "ein Passwort, das ich mir merke: <SECRET>"),
        ("un mot de passe comme soleil4821, tout bête", "un mot de passe comme <SECRET>, tout bête"),
    ],
)
def test_what_looks_like_a_password_is_found_around_a_word_for_one(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize("value", ["Tulip!09x", "Kite2024!", "aB3$efgh", "Summer48?"])
def test_what_nothing_else_looks_like_needs_no_word(value):
    assert REDACTOR.redact(f"here: {value}, thanks") == "here: <SECRET>, thanks"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("password: <SECRET> kite#4432b", "password: <SECRET> <SECRET>"),
        ("ValueError('password: <SECRET> kite#4432b')", "ValueError('password: <SECRET> <SECRET>')"),
        ("密码 <REDACTED>kite_Tiger20 连不上", "密码 <REDACTED><SECRET> 连不上"),
        ("password: ****Kite#4432", "password: <SECRET>"),
        ("пароль [СКРЫТО], [HIDDEN] Kite4432b", "пароль [СКРЫТО], [HIDDEN] <SECRET>"),
    ],
)
def test_what_stands_right_behind_a_masked_password_is_found(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "sunshine4821 is my favourite horse",  # no word for a password
        "the password page is at example.com/login4821",
        "the password page\n\nsunshine4821",  # another paragraph
        "password " + "is a word that many people use " * 6 + "sunshine4821",  # too far away
        "username: sunshine4821, password forgotten",
        "user sunshine4821 forgot the password",
        "логин sunshine4821, пароль забыл",
        "hash the password with sha256 or bcrypt12",
        "password rules: iso27001, nist800",
        "the password field in login2.html",
        "passwords in python3 and node18",
        "the password costs $1200",
        "my password manager runs on windows11",
        "password policy: min 8 chars, see rfc2898",
        "reset the password in 2024-01-31",
        "mật khẩu wifi xài chuẩn wpa2",
        "密码长度8位，例如abc123",
        "const passwordField2 = form.password;",
        'String password = props.get("pw4821a");',
    ],
)
def test_other_words_near_stay(text):
    assert REDACTOR.redact(text) == text
