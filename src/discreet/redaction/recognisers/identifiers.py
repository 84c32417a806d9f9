"""Tokens that could be somebody's number; only the words before them can tell."""

# ruff: noqa: RUF001 - the letters of the prefixes

from __future__ import annotations

import re

from discreet.redaction.recognisers.context import AMOUNT
from discreet.redaction.view import Span

LEAST_DIGITS = 4
"""Shorter numbers are ages, rooms, amounts."""

CLOSE = re.compile(r"[0-9](?:[^0-9]{0,3}[0-9]){3}")
"""Four digits close together; nearly all chat has none and costs nothing more."""

TOKEN = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:[A-Z0-9](?:[ .\n-]|\r\n)){5,19}+[A-Z0-9](?![A-Za-z0-9])"  # spaced out
    r"|(?:[A-ZА-ЯЁĐ]{1,4}(?:-|(?<=[А-ЯЁĐ])))?[A-Za-z0-9]{1,24}+(?:[-/_#][A-Za-z0-9А-ЯЁĐ]{1,24}+){0,5}+"
    r"(?:(?<=[0-9]) [0-9]{2,16}(?!(?:[./:-])?[0-9A-Za-z])){0,4}"
    r")(?![A-Za-z0-9])"
)

DATE = re.compile(
    r"(?:19|20)[0-9]{2}(?:[-/_](?:19|20)?[0-9]{1,2}(?:[-/_][0-9]{1,2})?(?:[T_][0-9]{2,6}Z?)?)?"
    r"|[0-9]{1,2}[-/_][0-9]{1,2}[-/_](?:19|20)?[0-9]{2}"
)


def identifiers(text: str) -> list[Span]:
    """Return the tokens with digits that are neither dates nor amounts; for `View.derived`."""
    if not CLOSE.search(text):
        return []
    return [
        match.span()
        for match in TOKEN.finditer(text)
        if sum(map(str.isdigit, match[0])) >= LEAST_DIGITS
        and not DATE.fullmatch(match[0])
        and not AMOUNT.match(text, match.end())
    ]
