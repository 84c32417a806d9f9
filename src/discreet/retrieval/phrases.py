"""Words and phrases that tell how two facts relate, and what each unit of a text may begin.

They are read from fact_features.toml, contrasts.toml, synonyms.toml and han.toml.

A unit is a word, brought to its stem, a number, a placeholder, one Han character, or a mark of punctuation that counts.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from discreet.retrieval.stopwords import STOP_WORDS
from discreet.retrieval.tokens import stem
from discreet.state.text import without_marks

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


T = TypeVar("T")
Longer = dict[str, list[tuple[int, dict[tuple[str, ...], T]]]]
"""Phrases of two units and more by their second unit: length in units, longest first, and the phrases of that length."""
Values = frozenset[tuple[str, str]]
"""Classes of contrasts.toml, each with a value of it."""


@dataclass(slots=True)
class Phrases(Generic[T]):
    """The phrases of one table that begin with the same unit."""

    alone: T | None = None
    """What the unit tells by itself."""
    longer: Longer[T] = field(default_factory=dict)

    def longest(self, plain: list[str], at: int) -> tuple[T | None, int]:
        """Return what the longest phrase from `at` on tells and how many units it has; None and 1 if there is none."""
        if self.longer and at + 1 < len(plain):
            for length, phrases in self.longer.get(plain[at + 1], ()):
                told = phrases.get(tuple(plain[at : at + length]))
                if told is not None:
                    return told, length
        return self.alone, 1


class Unit(NamedTuple):
    """One unit of a text, and the phrases that it begins."""

    plain: str
    """What stands for it in comparisons."""
    kind: Kind
    stop: bool
    """Whether it is too common to say anything."""
    alone: Meaning | None
    """What it means by itself."""
    longer: Longer[Meaning]
    contrasts: Phrases[Values] | None
    """What it tells of contrasts.toml."""
    senses: Phrases[str] | None
    """What stands for it among other words for the same, by synonyms.toml."""


def cut(text: str) -> list[str]:
    """Return the units of `text` as they are written."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_PLAIN)
    return _UNIT.findall(text)


def simplified(text: str) -> str:
    """Return `text` with the Chinese characters that are written in two ways in the simplified one."""
    return text if text.isascii() else text.translate(_simplified())


@cache
def _simplified() -> dict[int, int]:
    data = _read("han.toml")
    return str.maketrans(data["traditional"], data["simplified"])


@lru_cache(maxsize=50_000)
def unit(written: str) -> Unit:
    """Return what is known about one unit. Stemming takes 40 µs, so most of a text must come from this cache."""
    plain = _plain(written)
    known = _phrases().get(plain, _NONE)
    stop = written.casefold() in STOP_WORDS
    return Unit(
        plain, _kind(written[0]), stop, known.alone, known.longer, _contrasts().get(plain), _senses().get(plain)
    )


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


_NONE: Phrases[Meaning] = Phrases()


@cache
def _phrases() -> dict[str, Phrases[Meaning]]:
    found: dict[tuple[str, ...], Meaning] = {}
    for category, group, phrase in _entries("fact_features.toml"):
        units = _units(phrase)
        _add(found.setdefault(units, Meaning()), category, group, " ".join(units))
    return _by_first(found)


@cache
def _contrasts() -> dict[str, Phrases[Values]]:
    found: dict[tuple[str, ...], Values] = {}
    for contrast, value, phrase in _entries("contrasts.toml"):
        values = {(contrast, value)} if value != "none" else set()
        units = _units(phrase)
        found[units] = found.get(units, frozenset()) | values
    return _by_first(_without_marks(found))


@cache
def things() -> frozenset[str]:
    """Return what stands for the groups of [thing] of synonyms.toml."""
    return frozenset(f"{group}/" for category, group, _ in _entries("synonyms.toml") if category == "thing")


@cache
def _senses() -> dict[str, Phrases[str]]:
    found: dict[tuple[str, ...], str] = {}
    for category, group, phrase in _entries("synonyms.toml"):
        found[_units(phrase)] = (
            stem(group) if category == "form" else f"={group}" if category == "alike" else f"{group}/"
        )
    return _by_first(_without_marks(found))


def _without_marks(found: dict[tuple[str, ...], T]) -> dict[tuple[str, ...], T]:
    """Return the phrases, and those of several Vietnamese syllables as they are typed without marks."""
    bare = {tuple(without_marks(each) for each in units): told for units, told in found.items() if len(units) > 1}
    return bare | found


def _units(phrase: str) -> tuple[str, ...]:
    return tuple(map(_plain, cut(phrase)))


def _by_first(found: dict[tuple[str, ...], T]) -> dict[str, Phrases[T]]:
    by_first: dict[str, Phrases[T]] = {}
    for units in sorted(found, key=len, reverse=True):
        known = by_first.setdefault(units[0], Phrases())
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


def _entries(file: str) -> Iterator[tuple[str, str, str]]:
    """Give category, group and phrase of each entry; the group is empty for categories that have none."""
    data = _read(file)
    parts: dict[str, list[str]] = data.pop("parts", {})
    for category, entries in data.items():
        groups: dict[str, Iterable[str]] = entries if isinstance(entries, dict) else {"": entries}
        for group, phrases in groups.items():
            for phrase in phrases:
                for each in _filled(phrase, parts):
                    yield category, group, each


def _filled(phrase: str, parts: dict[str, list[str]]) -> Iterable[str]:
    """Return a phrase with each of the words that its part in braces stands for."""
    begins, brace, rest = phrase.partition("{")
    if not brace:
        return [phrase]
    name, _, ends = rest.partition("}")
    return [begins + each + ends for each in parts[name]]


def _read(file: str) -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath(file).read_text(encoding="utf-8"))
