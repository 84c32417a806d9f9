"""Words and phrases that tell how two facts relate, read from wording.toml, and the search for them in a text."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

from discreet.retrieval.tokens import stem

HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_UNIT = re.compile(
    r"<[A-Z][A-Z0-9_]*(?::[A-Z2-7]+)?>"  # a placeholder
    r"|\d+(?:[.,:/]\d+)*"
    rf"|[{HAN}]"
    rf"|(?:(?!\d)[^\W_{HAN}])[\u0300-\u036f]*(?:(?:(?!\d)[^\W_{HAN}])[\u0300-\u036f]*)*(?:'[^\W\d_]+)?"
)
_PLAIN = str.maketrans({"\N{RIGHT SINGLE QUOTATION MARK}": "'"})

Meaning = tuple[str, str]
"""A category and, within it, a group; the group is empty for categories that have none."""
Meanings = tuple[Meaning, ...]


def cut(text: str) -> list[tuple[str, int]]:
    """Return the units of `text` as they are written, and where each begins in the normal form that they are cut from."""
    return [
        (match[0], match.start()) for match in _UNIT.finditer(unicodedata.normalize("NFKC", text).translate(_PLAIN))
    ]


def plain(unit: str) -> str:
    """Return what stands for `unit` in comparisons: the stem of a word, lower case."""
    return stem(unit.casefold().replace("ё", "е")) if unit[0].isalpha() else unit


def longest(units: Sequence[str], at: int) -> tuple[int, Meanings]:
    """Return how many of the plain `units` from `at` on are the longest phrase that is known, and what it means."""
    by_length = _phrases().get(units[at], ())
    for length, phrases in by_length:
        meanings = phrases.get(tuple(units[at : at + length]))
        if meanings:
            return length, meanings
    return 0, ()


@cache
def _phrases() -> dict[str, list[tuple[int, dict[tuple[str, ...], Meanings]]]]:
    """Return, by the first unit of phrases, their lengths in units, longest first, with the phrases of each."""
    found: dict[str, dict[int, dict[tuple[str, ...], Meanings]]] = defaultdict(lambda: defaultdict(dict))
    for meaning, phrase in _entries():
        units = tuple(plain(unit) for unit, _ in cut(phrase))
        same = found[units[0]][len(units)]
        if meaning not in (known := same.get(units, ())):
            same[units] = (*known, meaning)
    return {first: sorted(lengths.items(), reverse=True) for first, lengths in found.items()}


def _entries() -> Iterator[tuple[Meaning, str]]:
    data = tomllib.loads(files(__package__).joinpath("wording.toml").read_text(encoding="utf-8"))
    for category, entries in data.items():
        groups = entries if isinstance(entries, dict) else {"": entries}
        for group, phrases in groups.items():
            for phrase in phrases:
                yield (category, group), phrase
