"""A text in small letters, and its words: what the first look at every text is about."""

from __future__ import annotations

import re

WORD = re.compile(r"[^\W\d_]+")


def small(text: str) -> str:
    """Return `text` in small letters, equally long."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text.replace("\u0130", "i").lower()


def word_set(text: str) -> frozenset[str]:
    """Return all words of a text in small letters; for `View.derived`, so that a text is taken apart once."""
    return frozenset(WORD.findall(small(text)))
