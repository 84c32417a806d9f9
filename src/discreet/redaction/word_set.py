"""A text in small letters, and its words: what the first look at every text is about."""

from __future__ import annotations

import re

WORD = re.compile(r"[^\W\d_]+")
ASCII_WORD = re.compile("[a-z]+")
OF_ONE_SCRIPT = re.compile(r"[a-z\u00c0-\u024f\u1e00-\u1eff]+|[^\W\d_a-z\u00c0-\u024f\u1e00-\u1eff]+")
"""A word of Latin letters, or of others: `cvv碼` has two."""


def small(text: str) -> str:
    """Return `text` in small letters, equally long."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text.replace("\u0130", "i").lower()


def word_set(text: str) -> frozenset[str]:
    """Return all words of a text in small letters; for `View.derived`, so that a text is taken apart once."""
    pattern = ASCII_WORD if text.isascii() else OF_ONE_SCRIPT
    return frozenset(pattern.findall(small(text)))


def word_places(text: str) -> dict[str, list[int]]:
    """Return where each word of a text begins, in small letters; for `View.derived`."""
    pattern = ASCII_WORD if text.isascii() else OF_ONE_SCRIPT
    places: dict[str, list[int]] = {}
    for match in pattern.finditer(small(text)):
        places.setdefault(match[0], []).append(match.start())
    return places
