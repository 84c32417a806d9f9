"""Choose the language of a page by what a browser asks for."""

from __future__ import annotations

from collections.abc import Sequence

MAX_HEADER_CHARS = 500
"""Of an `Accept-Language` header that are read; browsers send some 60."""


def accepted_language(header: str, languages: Sequence[str]) -> str:
    """Return which of `languages` an `Accept-Language` header (RFC 9110, section 12.5.4) likes best; the first if it names none.

    Example:
        >>> accepted_language("fr, vi-VN;q=0.8, en;q=0.5", ("en", "vi"))
        'vi'
    """
    best, best_quality = languages[0], 0.0
    for asked in header[:MAX_HEADER_CHARS].split(","):
        name, _, weight = asked.partition(";")
        language = name.strip().lower().partition("-")[0]
        if language in languages and (quality := _quality(weight)) > best_quality:
            best, best_quality = language, quality
    return best


def _quality(weight: str) -> float:
    name, _, number = weight.partition("=")
    try:
        return float(number) if name.strip().lower() == "q" else 1.0
    except ValueError:
        return 0.0
