"""Cities beside a street, in whatever case people type them."""

from __future__ import annotations

from functools import cache

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.word_set import small
from discreet.redaction.words import words

WORD = lazy(r"[ ,،]{1,3}(?P<word>[^\W\d_]+)\.?")
MOST_WORDS = 3
"""Short words before a city, which are of its quarter."""
MOST_CHARS = 12
"""In one of them."""
REACH = 40


@cache
def cities() -> dict[str, tuple[str, ...]]:
    """Return the cities that are listed, by their first word, the longest first."""
    by_word: dict[str, list[str]] = {}
    for city in words("address", "city"):
        found = WORD.match(" " + city)
        by_word.setdefault(found["word"] if found else city, []).append(city)
    return {word: tuple(sorted(each, key=len, reverse=True)) for word, each in by_word.items()}


@cache
def stops() -> frozenset[str]:
    """Return words after which nothing is of the address any more."""
    lists = (words("telling", name) for name in ("then", "is", "for"))
    return frozenset((*(word for each in lists for word in each), "in", "or", "at", "to")) - {"in", "a", "w", "в"}


def city_behind(text: str, end: int, *, most: int = MOST_WORDS, named: bool = False) -> int | None:
    """Return where a city ends that stands right behind `end`, at most so many short words before it; None if there is none.

    Where a name begins that is to be `named`, those are of it: `rue de la paix paris`.
    """
    near = small(text[end : end + REACH])
    place = 0
    for _ in range(most + 1):
        found = WORD.match(near, place)
        if found is None:
            return None
        start, word = found.start("word"), found["word"]
        for city in cities().get(word, ()):
            if near.startswith(city, start) and not near[start + len(city) : start + len(city) + 1].isalpha():
                return end + start + len(city)
        if (word in stops() and not named) or len(word) > MOST_CHARS:
            return None
        place = found.end()
    return None


def word_before(text: str, start: int, known: tuple[str, ...]) -> int | None:
    """Return where the longest of the known words begins that stands right before `start`, blanks and a comma apart."""
    before = small(text[max(0, start - REACH) : start]).rstrip(" ,")
    if not before.endswith(known):
        return None
    word = max((each for each in known if before.endswith(each)), key=len)
    first = len(before) - len(word)
    return None if before[first - 1 : first].isalpha() else max(0, start - REACH) + first
