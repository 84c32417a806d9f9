"""Read off a short fact what tells it from others like it: numbers, names, whose it is, negation, words of change.

Nothing here is grammar. A reading is evidence, which `dedup` weighs: what is in no list of fact_features.toml is content.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from discreet.retrieval.phrases import Meaning, Unit, cut, longest, unit

_SUBJECT_UNITS = 5
"""Within so many units from its beginning a text names whom it is about."""
_NAME_UNITS = 3
"""How far behind "my son" his name may end: most names have at most so many words, or Han characters."""
_LINKS = frozenset(":\N{EM DASH}\N{EN DASH}")
"""Punctuation that stands for "is"."""
_OVER = "\u4e86"
"""At the end of a Chinese sentence with a negation it means "no longer"."""
_ANYWAY = frozenset({"someone", "title"})
"""Lists whose phrases count though they begin with a capital within a sentence."""


@dataclass(slots=True)
class Wording:
    """What a fact says, as far as its words tell. Words are stems in lower case."""

    units: list[str]
    """All words, numbers, placeholders and Han characters, in order."""
    content: list[str] = field(default_factory=list)
    """Those that say something, in order; for words alike the name of their group."""
    said: set[str] = field(default_factory=set)
    """Of `content` what says the most: no names, no people, no word of a group that begins with "="."""
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
    """States that have one value at a time, with those that it names."""
    scales: dict[str, set[str]] = field(default_factory=dict)
    """Scales, with the ends that it names."""
    links: list[int] = field(default_factory=list)
    """How many of `content` stand before each "is"."""
    marks: set[str] = field(default_factory=set)
    """The lists without groups that it has phrases of, such as `negation` and `change`."""

    @property
    def negative(self) -> bool:
        """Whether it says that something is not, or no longer."""
        return "negation" in self.marks or "ended" in self.marks


@lru_cache(maxsize=256)
def wording(text: str) -> Wording:
    """Return the reading of `text`. It is shared: don't change it."""
    units = [unit(written) for written in cut(text)]
    return _Reader(units).read()


class _Reader:
    """Goes through the units of one text once."""

    def __init__(self, units: list[Unit]) -> None:
        self._units = units
        self._plain = [each.plain for each in units]
        self._reading = Wording([each.plain for each in units if each.kind != "break"])
        self._named: set[str] | None = None
        """Where a name belongs that comes before `_name_ends`."""
        self._name_ends = 0

    def read(self) -> Wording:
        reading = self._reading
        starts = True  # a sentence, where a capital says nothing
        at = 0
        while at < len(self._units):
            each = self._units[at]
            meaning, length = longest(self._units, self._plain, at)
            if meaning is not None and (starts or each.kind != "capital" or _though_capital(meaning)):
                self._note_phrase(meaning, each, at, length)
            else:
                length = 1
                self._note_unit(each, at, starts=starts)
            starts = each.kind == "break" and each.plain not in _LINKS
            at += length
        if "negation" in reading.marks and reading.units[-1:] == [_OVER]:
            reading.marks.add("ended")
        reading.said = {
            word
            for word in reading.content
            if word[0] != "=" and word not in reading.names and word not in reading.lead
        }
        return reading

    def _note_phrase(self, meaning: Meaning, first: Unit, at: int, length: int) -> None:
        reading, marks = self._reading, meaning.marks
        if marks:
            reading.marks |= marks
            if "copula" in marks:
                reading.links.append(len(reading.content))
        if meaning.people:
            reading.people |= meaning.people
            if at < _SUBJECT_UNITS:
                reading.subject |= meaning.people
        if meaning.numbers:
            reading.numbers |= meaning.numbers
        if meaning.single:
            reading.single |= meaning.single
        if meaning.state is not None:
            reading.states.setdefault(meaning.state[0], set()).add(meaning.state[1])
        if meaning.scale is not None:
            reading.scales.setdefault(meaning.scale[0], set()).add(meaning.scale[1])
        if meaning.content is not None:
            reading.content.append(meaning.content)
        self._expect_name(meaning, first, at, length)

    def _expect_name(self, meaning: Meaning, first: Unit, at: int, length: int) -> None:
        """Decide whether what follows the phrase may be a name, and whose."""
        marks = meaning.marks
        if meaning.people:
            self._named = self._reading.called.setdefault("one" if "one" in marks else "several", set())
            self._name_ends = at + length + _NAME_UNITS
        elif "title" in marks and (at == 0 or self._named is not None or first.kind != "han"):
            if self._named is None:
                self._named = self._reading.lead
            self._name_ends = at + length + (1 if first.kind == "han" else _NAME_UNITS)
        elif "copula" in marks or "someone" in marks:
            self._name_ends += length
        else:
            self._named = None

    def _note_unit(self, each: Unit, at: int, *, starts: bool) -> None:
        reading, kind = self._reading, each.kind
        if kind == "break":
            if each.plain in _LINKS:
                reading.links.append(len(reading.content))
            return
        if kind == "number":
            reading.numbers.add(each.plain)
            self._named = None
            return
        if kind == "placeholder" or (kind == "capital" and not starts):
            reading.names.add(each.plain)
        elif kind == "capital" and at == 0 and not each.stop:
            reading.lead.add(each.plain)
        if not each.stop:
            reading.content.append(each.plain)
        elif kind == "han":
            reading.content.append(f"={each.plain}")
        if kind == "word":
            self._named = None
        elif self._named is not None and at < self._name_ends and kind != "placeholder":
            self._named.add(each.plain)


def _though_capital(meaning: Meaning) -> bool:
    """Whether a phrase is what it is though it begins with a capital: a day, a month, "I", a make of car."""
    return bool(meaning.numbers) or meaning.state is not None or not meaning.marks.isdisjoint(_ANYWAY)
