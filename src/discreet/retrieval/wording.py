"""Read off a short fact what tells it from others like it: numbers, names, whose it is, negation, words of change.

Nothing here is grammar. A reading is evidence, which `dedup` weighs: what is in no list of wording.toml is content.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from discreet.retrieval.phrases import HAN, Meanings, cut, longest, plain
from discreet.retrieval.stopwords import STOP_WORDS

_SUBJECT_UNITS = 5
"""Within so many units from its beginning a text names whom it is about."""
_NAME_CHARACTERS = 3
"""A Chinese name has at most three, in most cases."""


@dataclass(slots=True)
class Wording:
    """What a fact says, as far as its words tell. Words are stems in lower case."""

    units: list[str] = field(default_factory=list)
    """All words, numbers, placeholders and Han characters, in order."""
    content: list[str] = field(default_factory=list)
    """Those that say something, in order; one of a group of words alike by the name of the group."""
    names: set[str] = field(default_factory=set)
    """Words written with a capital within a sentence, and placeholders."""
    numbers: set[str] = field(default_factory=set)
    """Numbers, days, months and parts of a day."""
    people: set[str] = field(default_factory=set)
    """Relatives, acquaintances and animals, by group."""
    subject: set[str] = field(default_factory=set)
    """Those of `people` that are named near the beginning."""
    known_as: set[str] = field(default_factory=set)
    """Names beside people of whom one may have several."""
    lead: str = ""
    """A name that the text begins with."""
    single: set[str] = field(default_factory=set)
    """What it is about, if a person has only one of it at a time."""
    marks: set[str] = field(default_factory=set)
    """Of `negation`, `ended`, `change` and `addition`, those that it has words of."""


@lru_cache(maxsize=256)
def wording(text: str) -> Wording:
    """Return the reading of `text`. It is shared: don't change it."""
    return _Reader(text).read()


class _Reader:
    """Goes through one text once."""

    def __init__(self, text: str) -> None:
        raw = cut(text)
        self._written = [unit for unit, _ in raw]
        self._text = text
        self._starts = [start for _, start in raw]
        self._reading = Wording(units=[plain(unit) for unit in self._written])
        self._name_follows = 0
        """How many more units may be the name of somebody just mentioned."""

    def read(self) -> Wording:
        units = self._reading.units
        at = 0
        while at < len(units):
            length, meanings = longest(units, at)
            if meanings:
                self._note_phrase(meanings, " ".join(units[at : at + length]), at)
            else:
                self._note_unit(at)
            at += length or 1
        return self._reading

    def _note_phrase(self, meanings: Meanings, phrase: str, at: int) -> None:
        reading = self._reading
        counted = False
        for category, group in meanings:
            match category:
                case "negation" | "ended" | "change" | "addition":
                    reading.marks.add(category)
                case "several" | "one":
                    reading.people.add(group)
                    if at < _SUBJECT_UNITS:
                        reading.subject.add(group)
                case "single":
                    reading.single.add(group)
                case "when" | "number":
                    reading.numbers.add(group)
                    counted = True
                case "alike" if group == "dislike":
                    reading.marks.add("negation")
        categories = {category for category, _ in meanings}
        if "several" in categories:
            self._name_follows = _NAME_CHARACTERS
        elif ("single", "called") not in meanings:
            self._name_follows = 0
        if not counted and not categories & {"someone", "filler", "negation", "addition"}:
            category, group = meanings[-1]
            group = "like" if group == "dislike" else group
            reading.content.append(f"={group}" if category in {"alike", "several", "one"} else phrase)

    def _note_unit(self, at: int) -> None:
        unit, written, reading = self._reading.units[at], self._written[at], self._reading
        if unit[0].isdigit():
            reading.numbers.add(unit)
            self._name_follows = 0
            return
        if written[0] == "<":
            reading.names.add(unit)
            reading.content.append(unit)
            return
        han = HAN[0] <= unit[0] <= HAN[-1]
        capital = written[0].isupper()
        begins = self._begins_sentence(at)
        if (capital and not begins) or (han and self._name_follows):
            reading.names.add(unit) if capital else None
            if self._name_follows:
                reading.known_as.add(unit)
                self._name_follows -= 1
        elif unit in STOP_WORDS:
            return
        if begins and at == 0 and (capital or han):
            reading.lead = unit
        reading.content.append(unit)

    def _begins_sentence(self, at: int) -> bool:
        return at == 0 or self._written_between(at).strip() in {".", "!", "?"}

    def _written_between(self, at: int) -> str:
        return self._text[self._starts[at - 1] + len(self._written[at - 1]) : self._starts[at]]
