"""Words and phrases that tell how two facts relate, read from fact_features.toml, and what each unit of a text may begin.

A unit is a word, brought to its stem, a number, a placeholder, one Han character, or a mark of punctuation that counts.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal, NamedTuple

from discreet.retrieval.stopwords import STOP_WORDS
from discreet.retrieval.tokens import stem

_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_UNIT = re.compile(
    r"<[A-Z][A-Z0-9_]*(?::[A-Z2-7]+)?>"
    r"|(?:(?<!\S)[-+])?\d+(?:[.,:/]\d+)*"
    rf"|[{_HAN}]"
    rf"|[^\W\d_{_HAN}]+(?:'[^\W\d_{_HAN}]+)?"
    r"|[.!?。:\N{EM DASH}\N{EN DASH}]"
    r"|[^\w\s<>,;'\"()\[\]\u00ab\u00bb\u2010-\u203a\u3000-\u301f/-]"
)
_BREAKS = frozenset(".!?。:\N{EM DASH}\N{EN DASH}")
_PLAIN = str.maketrans(
    {
        "\N{RIGHT SINGLE QUOTATION MARK}": "'",
        "\N{CYRILLIC SMALL LETTER IO}": "\N{CYRILLIC SMALL LETTER IE}",  # the dots are left out in most Russian texts
    }
)

Kind = Literal["word", "capital", "han", "number", "placeholder", "break"]
"""`capital` is a word that begins with one, `break` a mark of punctuation. A sign such as + or $ counts as a number: it
tells C from C++."""


@dataclass(slots=True)
class Meaning:
    """What a phrase tells of the text that it stands in. A phrase may stand in several lists."""

    marks: set[str] = field(default_factory=set)
    """The lists without groups that it is in, and `several` or `one` for people."""
    people: set[str] = field(default_factory=set)
    """Groups of people or animals."""
    numbers: set[str] = field(default_factory=set)
    """The number, day, month or part of a day."""
    single: set[str] = field(default_factory=set)
    """What a person has one of at a time."""
    state: tuple[str, str] | None = None
    """A state that has one value at a time, and the value."""
    scale: tuple[str, str] | None = None
    """A scale, and the end of it."""
    content: str | None = None
    """What stands for it among the words that say something; None if it says nothing by itself."""


Longer = dict[str, list[tuple[int, dict[tuple[str, ...], Meaning]]]]
"""Phrases of two units and more by their second unit: length in units, longest first, and the phrases of that length."""


class Unit(NamedTuple):
    """One unit of a text, and the phrases that it begins."""

    plain: str
    """What stands for it in comparisons."""
    kind: Kind
    stop: bool
    """Whether it is too common to say anything."""
    alone: Meaning | None
    """What it means by itself."""
    longer: Longer


@dataclass(slots=True)
class _Phrases:
    alone: Meaning | None = None
    longer: Longer = field(default_factory=dict)


def cut(text: str) -> list[str]:
    """Return the units of `text` as they are written."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_PLAIN)
    return _UNIT.findall(text)


@lru_cache(maxsize=50_000)
def unit(written: str) -> Unit:
    """Return what is known about one unit. Stemming takes 40 µs, so most of a text must come from this cache."""
    plain = _plain(written)
    known = _phrases().get(plain, _NONE)
    return Unit(plain, _kind(written[0]), written.casefold() in STOP_WORDS, known.alone, known.longer)


def longest(units: list[Unit], plain: list[str], at: int) -> tuple[Meaning | None, int]:
    """Return what the longest phrase from `at` on means and how many units it has; None and 1 if there is none."""
    each = units[at]
    if each.longer and at + 1 < len(plain):
        for length, phrases in each.longer.get(plain[at + 1], ()):
            meaning = phrases.get(tuple(plain[at : at + length]))
            if meaning is not None:
                return meaning, length
    return each.alone, 1


def _kind(first: str) -> Kind:
    if first.isalpha():
        if "\u3400" <= first <= "\u9fff":
            return "han"
        return "capital" if first.isupper() else "word"
    if first == "<":
        return "placeholder"
    return "break" if first in _BREAKS else "number"


def _plain(written: str) -> str:
    return stem(written.casefold()) if written[0].isalpha() else written


_NONE = _Phrases()


@cache
def _phrases() -> dict[str, _Phrases]:
    found: dict[tuple[str, ...], Meaning] = {}
    for category, group, phrase in _entries():
        units = tuple(map(_plain, cut(phrase)))
        _add(found.setdefault(units, Meaning()), category, group, " ".join(units))
    by_first: dict[str, _Phrases] = {}
    for units in sorted(found, key=len, reverse=True):
        known = by_first.setdefault(units[0], _Phrases())
        if len(units) == 1:
            known.alone = found[units]
            continue
        by_length = known.longer.setdefault(units[1], [])
        if not by_length or by_length[-1][0] != len(units):
            by_length.append((len(units), {}))
        by_length[-1][1][units] = found[units]
    return by_first


def _add(meaning: Meaning, category: str, group: str, phrase: str) -> None:
    """Add what one list says of a phrase. In `content` a word of a group that says little begins with "="."""
    match category:
        case "several" | "one":
            meaning.people.add(group)
            meaning.marks.add(category)
            meaning.content = f"={group}"
        case "when" | "number":
            meaning.numbers.add(group)
        case "single":
            meaning.single.add(group)
            meaning.content = f"={group}"
        case "state":
            thing, _, value = group.partition("/")
            meaning.content = group if value else phrase
            meaning.state = (thing, meaning.content)
        case "scale":
            meaning.content = group
            meaning.scale = (group.partition("/")[0], group)
        case "thing":
            meaning.content = f"{group}/"
        case "alike":
            if group == "dislike":
                meaning.marks.add("negation")
                group = "like"
            meaning.content = meaning.content or f"={group}"
        case "particle":
            meaning.content = meaning.content or f"={phrase}"
        case _:
            meaning.marks.add(category)


def _entries() -> Iterator[tuple[str, str, str]]:
    """Give category, group and phrase of each entry; the group is empty for categories that have none."""
    data = tomllib.loads(files(__package__).joinpath("fact_features.toml").read_text(encoding="utf-8"))
    for category, entries in data.items():
        groups = entries if isinstance(entries, dict) else {"": entries}
        for group, phrases in groups.items():
            for phrase in phrases:
                yield category, group, phrase
