"""Read what is written in an encoding: escapes in the middle of a text, and whole words of base64 or hexadecimal."""

from __future__ import annotations

import base64
import binascii
import contextlib
import html
import re
from collections.abc import Iterator
from typing import NamedTuple

from discreet.redaction.normalized_text import Span, View

MAX_LEVELS = 3
"""Escapes of escapes that are read: `%2540` has two."""

MAX_DECODED_CHARS = 8_000
"""Decoded text of one input that is searched; a legitimate one is a token or a header. What is longer is masked unread."""

ESCAPE = re.compile(
    r"(?:%[0-9A-Fa-f]{2}){1,64}"  # RFC 3986, section 2.1
    r"|\\u(?:[0-9A-Fa-f]{4}|\{[0-9A-Fa-f]{1,6}\})|\\U[0-9A-Fa-f]{8}|\\x[0-9A-Fa-f]{2}|\\[0-7]{3}"  # JSON, JavaScript, Python
    r"|&(?:#[0-9]{1,7};?|#[xX][0-9A-Fa-f]{1,6};?|[A-Za-z]{2,12};)"  # HTML
    r"|=(?:40|2[BbDdEe])(?![0-9])"  # quoted-printable (RFC 2045) of @ and what numbers have
    r"|=3[0-9](?==[0-9A-Fa-f]{2})|(?<==[0-9A-Fa-f]{2})=3[0-9](?![0-9])"  # and of several digits: `ts=30-Jul` has none
)

ENCODED = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/_-]{12,100000}+={0,2}(?![A-Za-z0-9+/=_-])")
"""A run of RFC 4648's alphabets, of 64 or 16 characters; the shortest value, an address such as `a@bc.de`, takes 12."""

BYTES = re.compile(r"(?<![0-9A-Za-z])(?:(?:0x)?[0-9A-Fa-f]{2}[ ,]{1,2}){6,256}(?:0x)?[0-9A-Fa-f]{2}(?![0-9A-Za-z])")
"""Bytes one by one in hexadecimal."""

BASE32 = re.compile("[A-Z2-7]{16,50000}={0,6}")

HEXADECIMAL = re.compile(r"(?:[0-9A-Fa-f]{2}){6,50000}")
LEAST_TEXT_SHARE = 0.9
"""Text is printable but for a line break here and there; bytes that happen to be UTF-8 are not."""


CODECS = ("utf-8", "utf-16-le", "utf-16-be")
USUAL = "\u0500"
"""Before it are the letters, digits and signs of Europe; text in Chinese has some of these, too."""
LEAST_USUAL_SHARE = 0.25
LEAST_WIDE = 4
"""Characters: with fewer, bytes that could be UTF-16 may be anything."""


class Encoded(NamedTuple):
    """Text found in an encoding."""

    span: Span
    text: str


def unescaped(view: View) -> View | None:
    """Return the view with escapes read; None if it has none."""
    first = view
    for _ in range(MAX_LEVELS):
        text = view.text
        if not any(sign in text for sign in "%\\&=") or not ESCAPE.search(text):
            break
        read = view.replaced(ESCAPE, _unescape)
        if read is view:
            break
        view = read
    return None if view is first else view


def _unescape(match: re.Match[str]) -> str:
    escape = match[0]
    if escape[0] == "%":
        return bytes.fromhex(escape.replace("%", "")).decode("utf-8", "replace").replace("\0", " ")
    if escape[0] == "&":
        return html.unescape(escape).replace("\0", " ")
    if escape[0] == "=":
        return chr(int(escape[1:], 16))
    code = int(escape[1:], 8) if escape[1].isdigit() else int(escape[2:].strip("{}"), 16)
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else escape  # Unicode's limits


def encoded_texts(view: View) -> Iterator[Encoded]:
    """Return the words of a text that are text in base64 or hexadecimal, with what they say."""
    for pattern in (ENCODED, BYTES):
        for match in pattern.finditer(view.text):
            text = _decoded(match[0])
            if text is not None:
                yield Encoded(match.span(), text)


def _decoded(word: str) -> str | None:
    """Return the text that a word encodes; None if it encodes none."""
    raw = _bytes_of(word)
    return None if raw is None else next((text for codec in CODECS if (text := text_of(raw, codec)) is not None), None)


def text_of(raw: bytes, codec: str) -> str | None:
    """Return the text that bytes are in an encoding, one of `CODECS`; None if they are none."""
    try:
        text = raw.decode(codec)
    except UnicodeDecodeError:
        return None
    is_marked = text.startswith("\ufeff")
    start = text[is_marked:2000]
    printable = sum(map(str.isprintable, start))
    if printable < LEAST_TEXT_SHARE * len(start):
        return None
    if codec == "utf-8" or (is_marked and start):
        return text
    # Any two bytes are a character of UTF-16, and most of these are Chinese.
    return text if LEAST_WIDE <= len(start) <= sum(map(USUAL.__gt__, start)) / LEAST_USUAL_SHARE else None


def _bytes_of(word: str) -> bytes | None:
    if " " in word or "," in word:
        return bytes.fromhex(re.sub("0x|[ ,]", "", word))
    if HEXADECIMAL.fullmatch(word):
        return bytes.fromhex(word)
    if BASE32.fullmatch(word):
        body = word.rstrip("=")
        with contextlib.suppress(binascii.Error):
            return base64.b32decode(body + "=" * (-len(body) % 8))
    body = word.rstrip("=").replace("-", "+").replace("_", "/")
    if len(body) % 4 == 1:
        return None
    try:
        return base64.b64decode(body + "=" * (-len(body) % 4), validate=True)
    except binascii.Error:
        return None
