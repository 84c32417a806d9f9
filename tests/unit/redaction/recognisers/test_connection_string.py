import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import ConnectionStringRecogniser

REDACTOR = Redactor(recognisers=[ConnectionStringRecogniser()])
PASSWORD = "tr0ub4dor" + "&3"


@pytest.mark.parametrize(
    ("text", "expected"),
    [  # RFC 3986, section 3.2.1; libpq, redis and AMQP URIs; Oracle JDBC thin; ADO.NET; Azure storage
        (f"postgresql://app:{PASSWORD}@db.example.com:5432/x", "<SECRET>"),
        (f"see redis://:{PASSWORD}@127.0.0.1:6379/0.", "see redis://<SECRET>."),
        (f"mongodb+srv://u:{PASSWORD}@c0.example.net/?w=1", "<SECRET>"),
        (f"連線amqp://u:{PASSWORD}@[::1]謝謝", "連線<SECRET>謝謝"),
        (f"jdbc:oracle:thin:scott/{PASSWORD}@//db:1521/x", "jdbc:oracle:<SECRET>"),
        (f"Server=db;User Id=sa;Password={PASSWORD};Encrypt=True", "<SECRET>"),
        ("DefaultEndpointsProtocol=https;AccountName=x;AccountKey=" + "a1B2c3D4" * 10 + "==", "<SECRET>"),
    ],
)
def test_all_but_a_short_scheme_is_found(text, expected):
    assert REDACTOR.redact(text) == expected
    assert Redactor().redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "https://example.com:8443/a?b=c@d",
        "postgresql://app@db.example.com/x",
        "postgresql://app:${DB_PASSWORD}@db/x",
        "http://localhost:8080 @ann",
        "Server=db;Trusted_Connection=True;Encrypt=yes",
    ],
)
def test_urls_without_a_password_stay(text):
    assert REDACTOR.redact(text) == text
