import base64

import pytest

from discreet.redaction import Finding, Redactor, redact
from discreet.redaction.decode import MAX_DECODED_CHARS

MAIL = "ann@example.com"
PLAIN = base64.b64encode(MAIL.encode()).decode()


@pytest.mark.parametrize(
    "written",
    [  # RFC 3986, ECMAScript, JSON, Python, HTML, RFC 4648
        "ann%40example%2Ecom",
        "%61%6e%6e%40%65xample.com",
        "ann%2540example.com",
        "ann\\u0040example\\u002ecom",
        "ann\\u{40}example.com",
        "ann\\x40example.com",
        "ann\\U00000040example.com",
        "ann&#64;example&#46;com",
        "ann&#x40;example.com",
        "ann&commat;example&period;com",
        "ann&amp;#64;example.com",
        PLAIN,
        base64.urlsafe_b64encode(b"mail: ann.lee@example.com???>>>").decode(),
        PLAIN.rstrip("="),
        MAIL.encode().hex(),
        MAIL.encode().hex().upper(),
        base64.b64encode(PLAIN.encode()).decode(),
        base64.b64encode("電郵：ann@example.com".encode()).decode(),
    ],
)
@pytest.mark.parametrize("around", ["so {} ok", "信箱：{}，謝謝", '{{"to": "{}"}}'])
def test_values_are_found_in_encodings(written, around):
    assert redact(around.format(written)) == around.format("<EMAIL>")


@pytest.mark.parametrize(
    "text",
    [
        "100%25 sure",
        "caf%C3%A9",
        "a&amp;b &nbsp; &copy; &unknown;",
        "C:\\users\\name",
        "\\ud83d\\ude00 \\u0000 \\x00",
        base64.b64encode(b"hello there, world").decode(),
        base64.b64encode(bytes(range(256))).decode(),
        "communication internationalization",
        "d41d8cd98f00b204e9800998ecf8427e",
    ],
)
def test_other_encoded_text_stays(text):
    assert redact(text) == text


def test_the_place_is_that_of_the_escapes():
    assert Redactor().findings("so ann%40example.com ok") == [Finding("EMAIL", 3, 20)]


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("said", [f"mail: {MAIL}", f"Почта: {MAIL}", f"Thư điện tử: {MAIL}", f"我的邮箱是{MAIL}"])
def test_text_in_utf_16_is_read(said, codec):
    raw = said.encode(codec)
    assert redact(f"so {raw.hex()} ok") == "so <EMAIL> ok"
    assert redact(f"so {base64.b64encode(raw).decode()} ok") in ("so <EMAIL> ok", "so <SECRET> ok")


def test_encoded_text_too_long_to_be_searched_is_masked():
    harmless = base64.b64encode(b"hello " * (MAX_DECODED_CHARS // 6 + 1)).decode()
    assert redact(f"a {harmless} b") == "a <UNKNOWN> b"


def test_encodings_nested_too_deep_are_masked():
    nested = MAIL
    for _ in range(6):
        nested = base64.b64encode(nested.encode()).decode()
    assert MAIL not in redact(nested)
    assert redact(f"a {nested} b").startswith("a <")
