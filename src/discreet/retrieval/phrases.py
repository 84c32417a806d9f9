"""Words and phrases that tell how two facts relate, read from wording.toml, and the search for them in a text."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

from discreet.retrieval.stopwords import STOP_WORDS
from discreet.retrieval.tokens import stem

_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_LETTER = rf"[^\W\d_{_HAN}][\u0300-\u036f]*"
_UNIT = re.compile(rf"<[A-Z][A-Z0-9_]*(?::[A-Z2-7]+)?>|\d+(?:[.,:/]\d+)*|[{_HAN}]|[.!?。！？:—–]|(?:{_LETTER})+(?:'(?:{_LETTER})+)?")
_PLAIN = str.maketrans(
    {
        "\N{RIGHT SINGLE QUOTATION MARK}": "'",
        "\N{CYRILLIC SMALL LETTER IO}": "\N{CYRILLIC SMALL LETTER IE}",
    }
)


@dataclass(slots=True)
class Meaning:
    """What a phrase tells of the text that it stands in. A phrase may stand in several lists."""

    marks: set[str] = field(default_factory=set)
    """The lists without groups that it is in."""
    people: set[str] = field(default_factory=set)
    """Groups of people or animals."""
    numbers: set[str] = field(default_factory=set)
    """The number, day, month or part of a day."""
    single: set[str] = field(default_factory=set)
    """What a person has one of at a time."""
    value: tuple[str, str] | None = None
    """A state of which there is one at a time, and which value of it the phrase is."""
    end: tuple[str, str] | None = None
    """A scale, and which end of it the phrase is."""
    content: str | None = None
    """What stands for it among the words that say something; None if it says nothing by itself."""


class Unit(NamedTuple):
    """A word, number, placeholder or Han character."""

    plain: str
    """What stands for it in comparisons: the stem of a word, lower case."""
    kind: str
    """`number`, `placeholder`, `break` (punctuation), `han`, `capital` or `word`."""
    stop: bool
    """Whether it is too common to say anything."""
    phrases: Sequence[tuple[int, dict[tuple[str, ...], Meaning]]]
    """The known phrases that begin with it, by their length in units, longest first."""


def cut(text: str) -> list[str]:
    """Return the units of `text` as they are written."""
    return _UNIT.findall(unicodedata.normalize("NFKC", text).translate(_PLAIN))


@lru_cache(maxsize=50_000)
def unit(written: str) -> Unit:
    """Return what is known about one unit. Stemming takes most of the time of a reading, so it must come from here."""
    first = written[0]
    if not first.isalpha():
        kind = "placeholder" if first == "<" else "number" if first.isdigit() else "break"
        return Unit(written, kind, stop=False, phrases=_phrases().get(written, ()))
    plain = _plain(written)
    kind = "han" if "\u3400" <= first <= "\u9fff" else "capital" if first.isupper() else "word"
    return Unit(plain, kind, written.casefold() in STOP_WORDS, _phrases().get(plain, ()))


def _plain(written: str) -> str:
    return stem(written.casefold())


@cache
def _phrases() -> dict[str, list[tuple[int, dict[tuple[str, ...], Meaning]]]]:
    found: dict[str, dict[int, dict[tuple[str, ...], Meaning]]] = {}
    for category, group, phrase in _entries():
        units = tuple(_plain(written) if written[0].isalpha() else written for written in cut(phrase))
        meaning = found.setdefault(units[0], {}).setdefault(len(units), {}).setdefault(units, Meaning())
        _add(meaning, category, group, " ".join(units))
    return {first: sorted(lengths.items(), reverse=True) for first, lengths in found.items()}


def _add(meaning: Meaning, category: str, group: str, phrase: str) -> None:
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
            meaning.value = (thing, meaning.content)
        case "scale":
            meaning.content = group
            meaning.end = (group.partition("/")[0], group)
        case "alike" if group == "dislike":
            meaning.marks.add("negation")
            meaning.content = "=like"
        case "alike":
            meaning.content = meaning.content or f"={group}"
        case "thing":
            meaning.content = f"{group}/"
        case "particle":
            meaning.marks.add(category)
            meaning.content = meaning.content or f"={phrase}"
        case _:
            meaning.marks.add(category)


def _entries() -> Iterator[tuple[str, str, str]]:
    """Give category, group and phrase of each entry; the group is empty for categories that have none."""
    data = tomllib.loads(files(__package__).joinpath("wording.toml").read_text(encoding="utf-8"))
    for category, entries in data.items():
        groups = entries if isinstance(entries, dict) else {"": entries}
        for group, phrases in groups.items():
            for phrase in phrases:
                yield category, group, phrase
