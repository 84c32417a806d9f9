"""Make look-alike characters the same without moving any of them."""

from __future__ import annotations

import unicodedata

BLANK = "\0"
"""Stands in for characters that no recogniser may see. Storable text has no NUL, so it can't be mistaken."""


class _Folding(dict[int, str]):
    """For `str.translate`: character -> the one ASCII character it looks like, or itself. Fills itself on demand."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = folded = _fold_char(char)
        return folded


def _fold_char(char: str) -> str:
    if (digit := unicodedata.decimal(char, None)) is not None:
        return str(digit)
    category = unicodedata.category(char)
    if category == "Pd" or char == "\N{MINUS SIGN}":
        return "-"
    if category == "Zs":
        return " "
    if unicodedata.decomposition(char).startswith(("<super>", "<sub>")):
        return char  # the 2 of m² belongs to no number
    plain = unicodedata.normalize("NFKC", char)
    return plain if len(plain) == 1 and plain.isascii() else char


_FOLDING = _Folding()


def fold(text: str) -> str:
    r"""Return `text`, equally long, with digits, dashes, spaces and full-width forms of all scripts as ASCII.

    Example:
        >>> fold("\N{FULLWIDTH DIGIT ONE}2\N{EN DASH}3\N{NO-BREAK SPACE}4")
        '12-3 4'
    """
    return text if text.isascii() else text.translate(_FOLDING)
