import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import ConnectionStringRecogniser

REDACTOR = Redactor(recognisers=[ConnectionStringRecogniser()])
PASSWORD = "tr0ub4dor" + "&3"


@pytest.mark.parametrize(
    ("text", "expected"),
    [  # RFC 3986, section 3.2.1; libpq, redis and AMQP URIs
        (f"postgresql://app:{PASSWORD}@db.example.com:5432/x", "postgresql://app:<SECRET>@db.example.com:5432/x"),
        (f"redis://:{PASSWORD}@127.0.0.1:6379/0", "redis://:<SECRET>@127.0.0.1:6379/0"),
        (f"mongodb+srv://u:{PASSWORD}@c0.example.net/?w=1", "mongodb+srv://u:<SECRET>@c0.example.net/?w=1"),
        (f"連線amqp://u:{PASSWORD}@[::1]謝謝", "連線amqp://u:<SECRET>@[::1]謝謝"),
    ],
)
def test_the_password_is_found_and_the_rest_stays(text, expected):
    assert REDACTOR.redact(text) == expected
    assert Redactor().redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "https://example.com:8443/a?b=c@d",
        "postgresql://app@db.example.com/x",
        "postgresql://app:${DB_PASSWORD}@db/x",
        "http://localhost:8080 @ann",
    ],
)
def test_urls_without_a_password_stay(text):
    assert REDACTOR.redact(text) == text
