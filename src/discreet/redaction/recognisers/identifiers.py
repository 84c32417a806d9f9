"""Tokens that could be somebody's number; only the words before them can tell."""

from __future__ import annotations

import re

from discreet.redaction.normalized_text import Span
from discreet.redaction.recognisers.context import AMOUNT

LEAST_DIGITS = 4
"""Shorter numbers are ages, rooms, amounts."""

CLOSE = re.compile(r"[0-9](?:[^0-9]{0,3}[0-9]){3}")
"""Four digits close together; nearly all chat has none and costs nothing more."""

LETTERS_AND_DIGITS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
TIGHT = bytes.maketrans(LETTERS_AND_DIGITS, b"A" * 52 + b"9" * 10)
AS_WRITTEN = bytes.maketrans(LETTERS_AND_DIGITS, b"a" * 52 + b"0" * 10)

TOKEN = re.compile(
    r"(?<![A-Za-z0-9])(?!(?:[a-z]|[A-Za-z]{2,24}+)(?![A-Za-z0-9/_#А-ЯЁĐ-]))(?:"  # no mere words
    r"(?:[A-Z0-9](?:[ .\n-]|\r\n)){5,19}+[A-Z0-9](?![A-Za-z0-9])"  # spaced out
    r"|(?:[A-ZА-ЯЁĐ]{1,4}(?:-|(?<=[А-ЯЁĐ])))?[A-Za-z0-9]{1,24}+(?:[-/_#][A-Za-z0-9А-ЯЁĐ]{1,24}+){0,5}+"
    r"(?:(?<=[0-9]) [0-9]{2,16}(?!(?:[./:-])?[0-9A-Za-z])){0,4}"
    r")(?![A-Za-z0-9])"
)

DATE = re.compile(
    r"(?:19|20)[0-9]{2}(?:[-/_](?:19|20)?[0-9]{1,2}(?:[-/_][0-9]{1,2})?(?:[T_][0-9]{2,6}Z?)?)?"
    r"|[0-9]{1,2}[-/_][0-9]{1,2}[-/_](?:19|20)?[0-9]{2}"
)


def digits_are_close(text: str) -> bool:
    """Tell whether four digits stand close together; for `View.derived`. No id has fewer."""
    return CLOSE.search(text) is not None


def shape(text: str) -> bytes:
    """Return the shape of the text twice; for `View.derived`.

    First without separators, with `A` for each letter of ASCII and `9` for each digit, then as it is written, with `a` and
    `0`; other letters are `?`. Looking for a part of a code's shape costs a hundredth of searching with its pattern.
    """
    plain = text.encode("ascii", "replace")
    return plain.translate(TIGHT, b" .\n\r\t_-") + b"\0" + plain.translate(AS_WRITTEN)


def identifiers(text: str) -> list[Span]:
    """Return the tokens with digits that are neither dates nor amounts; for `View.derived`."""
    if not CLOSE.search(text):
        return []
    found = []
    for match in TOKEN.finditer(text):
        token = match[0]
        if (
            len(token) >= LEAST_DIGITS
            and (token[-LEAST_DIGITS:].isdecimal() or sum(map(str.isdigit, token)) >= LEAST_DIGITS)
            and not DATE.fullmatch(token)
            and not AMOUNT.match(text, match.end())
        ):
            found.append(match.span())
    return found
