"""Read off a short fact what tells it from others like it: numbers, names, whose it is, negation, words of change.

Nothing here is grammar. A reading is evidence, which `dedup` weighs: what is in no list of wording.toml is content.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from discreet.retrieval.phrases import Meaning, Unit, cut, unit

_SUBJECT_UNITS = 5
"""Within so many units from its beginning a text names whom it is about."""
_NAME_UNITS = 3
"""A name has at most so many Han characters, or words, in most cases."""

_LINKS = frozenset(":—–")
"""Punctuation that stands for "is"."""


@dataclass(slots=True)
class Wording:
    """What a fact says, as far as its words tell. Words are stems in lower case."""

    units: list[str]
    """All words, numbers, placeholders and Han characters, in order."""
    content: list[str] = field(default_factory=list)
    """Those that say something, in order; for words alike the name of their group."""
    names: set[str] = field(default_factory=set)
    """Words written with a capital within a sentence, and placeholders."""
    numbers: set[str] = field(default_factory=set)
    """Numbers, days, months and parts of a day."""
    people: set[str] = field(default_factory=set)
    """Relatives, acquaintances and animals, by group."""
    subject: set[str] = field(default_factory=set)
    """Those of `people` that are named near the beginning."""
    called: dict[str, set[str]] = field(default_factory=dict)
    """Names right beside people, by `several` or `one`: how many such people a person has."""
    lead: set[str] = field(default_factory=set)
    """A name that the text begins with."""
    single: set[str] = field(default_factory=set)
    """What it is about, if a person has only one of it at a time."""
    states: dict[str, set[str]] = field(default_factory=dict)
    """Likewise, with the values that it names."""
    scales: dict[str, set[str]] = field(default_factory=dict)
    """Scales, with the ends that it names."""
    links: list[int] = field(default_factory=list)
    """How many of `content` stand before each "is"."""
    marks: set[str] = field(default_factory=set)
    """The lists without groups that it has phrases of, such as `negation` and `change`."""


@lru_cache(maxsize=256)
def wording(text: str) -> Wording:
    """Return the reading of `text`. It is shared: don't change it."""
    units = [unit(written) for written in cut(text)]
    plain = [each.plain for each in units]
    reading = Wording([each.plain for each in units if each.kind != "break"])
    starts = True  # of a sentence, where a capital says nothing
    named: set[str] | None = None  # where a name that follows belongs
    at, name_ends = 0, 0
    while at < len(units):
        each = units[at]
        meaning, length = _longest(units, plain, at)
        if meaning is not None and each.kind == "capital" and not starts and not _though_capital(meaning):
            meaning, length = None, 1
        if meaning is not None:
            _note(reading, meaning, at)
            if meaning.people:
                named = reading.called.setdefault("one" if "one" in meaning.marks else "several", set())
                name_ends = at + length + _NAME_UNITS
            elif "title" in meaning.marks:
                named = reading.lead if named is None else named
                name_ends = at + length + (1 if each.kind == "han" else _NAME_UNITS)
            elif meaning.marks & {"copula", "someone"}:
                name_ends += length
            else:
                named = None
        elif each.kind == "break":
            if each.plain in _LINKS:
                reading.links.append(len(reading.content))
        elif each.kind == "number":
            reading.numbers.add(each.plain)
            named = None
        else:
            _note_word(reading, each, at, starts=starts)
            if each.kind == "word":
                named = None
            elif named is not None and at < name_ends and each.kind != "placeholder":
                named.add(each.plain)
        starts = each.kind == "break" and each.plain not in _LINKS
        at += length
    if "negation" in reading.marks and reading.units[-1] == "了":
        reading.marks.add("ended")
    return reading


def _though_capital(meaning: Meaning) -> bool:
    """Whether a phrase is what it is though it begins with a capital: a day, a month, "I", a title."""
    return bool(meaning.numbers or meaning.value) or not meaning.marks.isdisjoint({"someone", "title"})


def _longest(units: list[Unit], plain: list[str], at: int) -> tuple[Meaning | None, int]:
    """Return what the longest known phrase from `at` on means and how many units it has, else None and 1."""
    for length, phrases in units[at].phrases:
        meaning = phrases.get(tuple(plain[at : at + length]))
        if meaning is not None:
            return meaning, length
    return None, 1


def _note(reading: Wording, meaning: Meaning, at: int) -> None:
    reading.marks |= meaning.marks
    if meaning.people:
        reading.people |= meaning.people
        if at < _SUBJECT_UNITS:
            reading.subject |= meaning.people
    if meaning.numbers:
        reading.numbers |= meaning.numbers
    if meaning.single:
        reading.single |= meaning.single
    if meaning.value is not None:
        reading.states.setdefault(meaning.value[0], set()).add(meaning.value[1])
    if meaning.end is not None:
        reading.scales.setdefault(meaning.end[0], set()).add(meaning.end[1])
    if "copula" in meaning.marks:
        reading.links.append(len(reading.content))
    if meaning.content is not None:
        reading.content.append(meaning.content)


def _note_word(reading: Wording, each: Unit, at: int, *, starts: bool) -> None:
    if (each.kind == "capital" and not starts) or each.kind == "placeholder":
        reading.names.add(each.plain)
    elif at == 0 and each.kind == "capital" and not each.stop:
        reading.lead.add(each.plain)
    if not each.stop or each.kind == "han":
        reading.content.append(each.plain)
