"""Cities behind a street, in whatever case people type them."""

from __future__ import annotations

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.word_set import small
from discreet.redaction.words import any_of, whole, words

_STOP = any_of(
    (*words("telling", "then"), *words("telling", "is"), *words("telling", "for"), "in", "is", "or", "at", "to")
)
BEHIND = lazy(
    rf"(?:[ ,،]{{1,3}}(?:(?:tp|kota|г|в|in|à|a|w)\.? )?|[ ,]{{1,2}}(?:(?!{_STOP} )[^\W\d_]{{1,12}},? ){{1,3}})"
    rf"{whole(words('address', 'city'))}"
)
"""A city, at most three short words before it, which are of its quarter. For text in small letters."""
ALMOST_BESIDE = 40


def city_behind(text: str, end: int) -> int | None:
    """Return where a city ends that stands right behind `end`; None if there is none."""
    match = BEHIND.match(small(text[end : end + ALMOST_BESIDE]))
    return end + match.end() if match else None
