import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import AssignmentRecogniser

REDACTOR = Redactor(recognisers=[AssignmentRecogniser()])
KEY = "a1B2c3D4" * 3
PASSWORD = "tr0ub4dor" + "&3"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"password={PASSWORD}", "password=<SECRET>"),
        (f"DB_PASSWORD: {PASSWORD}", "DB_PASSWORD: <SECRET>"),
        ("password: opensesame", "password: <SECRET>"),
        (f'{{"password": "it\'s {PASSWORD}", "n": 1}}', '{"password": "<SECRET>", "n": 1}'),
        ('{\\"pwd\\": \\"opensesame\\"}', '{\\"pwd\\": \\"<SECRET>\\"}'),
        (f"Server=db;Pwd={PASSWORD};Encrypt=yes", "Server=db;Pwd=<SECRET>;Encrypt=yes"),
        (f"api_key: {KEY}", "api_key: <SECRET>"),
        (f"export AWS_SECRET_ACCESS_KEY={KEY}", "export AWS_SECRET_ACCESS_KEY=<SECRET>"),
        (f"client-secret => '{KEY}'", "client-secret => '<SECRET>'"),
        (f"https://example.com/a?access_token={KEY}&page=2", "https://example.com/a?access_token=<SECRET>&page=2"),
        (f"X-Api-Key: {KEY}", "X-Api-Key: <SECRET>"),
        (f"AccountKey={KEY}==", "AccountKey=<SECRET>"),
        ("mật khẩu: matkhau123", "mật khẩu: <SECRET>"),
        ("password=$ecret" + "123", "password=<SECRET>"),
        ("password=Pass(word" + "1]", "password=<SECRET>"),
        ("password=*star" + "fish9", "password=<SECRET>"),
        ("Пароль: qwerty12", "Пароль: <SECRET>"),
        ("密碼：abc12345，謝謝", "密碼：<SECRET>，謝謝"),
    ],
)
def test_values_are_found(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "token = get_token(user)",
        "password = os.environ['DB_PASSWORD']",
        "password=$PASSWORD",
        "api_key: ${API_KEY}",
        "password: ********",
        "password=<SECRET>",
        "Password: must contain a digit",
        "password: required",
        "max_tokens: 4096",
        "token: 42",
        "secret: use fresh basil",
        "the key: practice",
        "export PATH=$PATH:/usr/local/bin",
        "for key in keys: print(key)",
        "password=None",
    ],
)
def test_references_and_prose_stay(text):
    assert REDACTOR.redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        'password = input("Password: ")  # is this safe?',
        "hashed = bcrypt.hash(password, 10)",
        "const ok = await bcrypt.compare(password, user.hash)",
        '"password": {"type": "string"}',
        "auth = HTTPBasicAuth(user, passwd)",
        "pass: 12 failed: 3",
        "credentials: user=jx@hey.com",
        "пароль: неверный",
    ],
)
def test_code_and_results_of_tests_stay(text):
    assert REDACTOR.redact(text) == text
