import base64

import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import AuthorizationRecogniser

REDACTOR = Redactor(recognisers=[AuthorizationRecogniser()])
TOKEN = "a1B2c3D4" * 4
PAIR = base64.b64encode(b"ann:" + b"opensesame").decode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [  # RFC 6750, section 2.1; RFC 7617, section 2
        (f"Authorization: Bearer {TOKEN}", "Authorization: Bearer <SECRET>"),
        (f"authorization: bearer {TOKEN}\nHost: x", "authorization: bearer <SECRET>\nHost: x"),
        (f'{{"Authorization": "Bearer {TOKEN}"}}', '{"Authorization": "Bearer <SECRET>"}'),
        (f"-H 'Proxy-Authorization: Basic {PAIR}'", "-H 'Proxy-Authorization: Basic <SECRET>'"),
        (f"send Basic {PAIR} along", "send Basic <SECRET> along"),
        (f"標頭Bearer {TOKEN}", "標頭Bearer <SECRET>"),
        ("Authorization: Token abcdefgh", "Authorization: Token <SECRET>"),
    ],
)
def test_credentials_are_found(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "basic authentication is deprecated",
        "Authorization: Bearer <token>",
        "the bearer of this letter",
        "a token representation of thanks",
        "bearer internationalization",
    ],
)
def test_prose_stays(text):
    assert REDACTOR.redact(text) == text
