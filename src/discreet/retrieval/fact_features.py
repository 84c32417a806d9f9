"""Read off a short fact what tells it from others like it: numbers, names, whose it is, negation, words of change.

Nothing here is grammar. A reading is evidence, which `dedup` weighs: what is in no list of fact_features.toml is content.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain

from discreet.retrieval.phrases import Meaning, Unit, cut, longest, simplified, things, unit

_SUBJECT_UNITS = 5
"""Within so many units from its beginning a text names whom it is about."""
_NAME_UNITS = 3
"""How far behind "my son" his name may end: most names have at most so many words, or Han characters."""
_NUMBER_JOINS = frozenset({"and", "a", "\u0441", "\u70b9"})
"""What may stand within a number: "two and a half", with Russian and Chinese words for the same."""
_LINKS = frozenset(":\N{EM DASH}\N{EN DASH}")
"""Punctuation that stands for "is"."""
_OF = frozenset({"c\u1ee7a", "cua"})
"""Stand before an owner in Vietnamese."""
_OVER = "\u4e86"
"""At the end of a Chinese sentence with a negation it means "no longer"."""
_ROOT = 5
"""Words that begin with so many equal letters are taken for forms of one: migraine, migraines; asthma, asthmatic."""
_HAN_WEIGHT = 0.5
"""What a Han character says, beside a word."""
_WORDS = frozenset({"word", "capital", "han"})
_DENIES = frozenset({"negation", "ended"})
_ANYWAY = frozenset({"someone", "title"})
"""Lists whose phrases count though they begin with a capital within a sentence."""


@dataclass
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
    owners: set[str] = field(default_factory=set)
    """Names behind a word for "of", and a classifier perhaps."""
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
    contrasts: dict[str, set[str]] = field(default_factory=dict)
    """Classes of contrasts.toml, with the values that it names."""
    senses: set[str] = field(default_factory=set)
    """What says something, with one word for all that mean the same; names, people, numbers and days are left out."""
    kin: set[str] = field(default_factory=set)
    """Those of `people` that no word of `senses` stands for."""
    frames: set[str] = field(default_factory=set)
    """Groups of words that say little by themselves, as "like" and "have"."""
    denied: bool = False
    """Whether it says that something is not, but for words such as "teetotal" and "doesn't drink"."""

    @property
    def negative(self) -> bool:
        """Whether it says that something is not, or no longer."""
        return "negation" in self.marks or "ended" in self.marks

    @cached_property
    def sense_roots(self) -> set[str]:
        """The roots of `senses`."""
        return set(map(root_of, self.senses))

    @cached_property
    def lead_roots(self) -> set[str]:
        """The roots of `lead`."""
        return set(map(root_of, self.lead))

    @cached_property
    def all_roots(self) -> set[str]:
        """The roots of what it says and of whom and what it names."""
        return self.sense_roots.union(self.lead_roots, map(root_of, self.names))

    @cached_property
    def weight(self) -> float:
        """How much `all_roots` say, but for a name that the text begins with, in words."""
        return weight_of(self.all_roots - self.lead_roots)

    @cached_property
    def content_roots(self) -> list[str]:
        """The roots of `content`, in its order."""
        return list(map(root_of, self.content))

    @cached_property
    def said_roots(self) -> set[str]:
        """The roots of `said`."""
        return set(map(root_of, self.said))


def root_of(word: str, length: int = _ROOT) -> str:
    """Return what the forms of a word have in common."""
    return word if word[0] == "=" or "/" in word else word[:length]


def weight_of(words: set[str]) -> float:
    """Return how much `words` say, in words."""
    return len(words) - (1 - _HAN_WEIGHT) * sum(len(word) == 1 and not word.isascii() for word in words)


@lru_cache(maxsize=1024)
def wording(text: str) -> Wording:
    """Return the reading of `text`. It is shared: don't change it."""
    units = [unit(written) for written in cut(simplified(text))]
    return _Reader(units).read()


class _Reader:
    """Goes through the units of one text once."""

    def __init__(self, units: list[Unit]) -> None:
        self._units = units
        self._plain = [each.plain for each in units]
        self._reading = Wording([each.plain for each in units if each.kind != "break"])
        self._leads = True
        """Whether the first word may be a name: none that synonyms.toml has."""
        self._values: set[int] = set()
        """Where phrases of contrasts.toml begin that have several words."""
        self._named: set[str] | None = None
        """Where a name belongs that comes before `_name_ends`."""
        self._name_ends = 0
        self._number = ""
        """The number that ends at `_number_ends`."""
        self._number_ends = -1

    def read(self) -> Wording:
        reading = self._reading
        self._read_contrasts()
        self._read_senses()
        starts = True  # a sentence, where a capital says nothing
        at = 0
        while at < len(self._units):
            each = self._units[at]
            meaning, length = self._longest(at)
            if meaning is not None and (starts or each.kind != "capital" or _though_capital(meaning)):
                self._note_phrase(meaning, each, at, length)
            else:
                length = 1
                self._note_unit(each, at, starts=starts)
            starts = each.kind == "break" and each.plain not in _LINKS
            at += length
        reading.senses -= reading.names
        behind = (self._plain[at + 1 : at + 3] for at, plain in enumerate(self._plain) if plain in _OF)
        reading.owners = reading.names.intersection(chain.from_iterable(behind))
        if "negation" in reading.marks and reading.units[-1:] == [_OVER]:
            reading.marks.add("ended")
        reading.said = {
            word
            for word in reading.content
            if word[0] != "=" and word not in reading.names and word not in reading.lead
        }
        return reading

    def _longest(self, at: int) -> tuple[Meaning | None, int]:
        """Return what the longest phrase from `at` on means. "Left" of "left knee" is nothing that ended."""
        meaning, length = longest(self._units, self._plain, at)
        if length == 1 and at in self._values and meaning is not None and "ended" in meaning.marks:
            return None, 1
        return meaning, length

    def _read_contrasts(self) -> None:
        contrasts = self._reading.contrasts
        until = 0
        for at, each in enumerate(self._units):
            if each.contrasts is None or at < until:
                continue
            values, length = each.contrasts.longest(self._plain, at)
            if values is not None:
                until = at + length
                if length > 1 and each.kind != "han":
                    self._values.add(at)
                for contrast, value in values:
                    contrasts.setdefault(contrast, set()).add(value)

    def _read_senses(self) -> None:
        reading, units, plain = self._reading, self._units, self._plain
        at = 0
        while at < len(units):
            each = units[at]
            meaning, length = self._longest(at)
            sense = None
            if each.senses is not None:
                sense, longer = each.senses.longest(plain, at)
                if longer < length:
                    sense = None
                else:
                    length = longer
                    self._leads &= at > 0
            if sense is None and meaning is None:
                if not each.stop and each.kind in _WORDS:
                    sense = each.plain
            elif sense is None and meaning is not None:
                reading.denied |= not meaning.marks.isdisjoint(_DENIES)
                reading.kin |= meaning.people
                sense = None if meaning.people or meaning.numbers else meaning.content
                if sense is not None and (thing := f"{sense[1:]}/") in things():
                    sense = thing
            if sense is not None:
                if sense.startswith("=not_"):
                    reading.denied, sense = True, f"={sense[5:]}"
                (reading.frames if sense[0] == "=" else reading.senses).add(sense)
            at += length

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
            self._note_numbers(meaning.numbers, at, length)
        if meaning.single:
            reading.single |= meaning.single
        if meaning.state is not None:
            reading.states.setdefault(meaning.state[0], set()).add(meaning.state[1])
        if meaning.scale is not None:
            reading.scales.setdefault(meaning.scale[0], set()).add(meaning.scale[1])
        if meaning.content is not None:
            reading.content.append(meaning.content)
        self._expect_name(meaning, first, at, length)

    def _note_numbers(self, numbers: set[str], at: int, length: int) -> None:
        if when := {number for number in numbers if number.isalpha() and number != "half"}:
            self._reading.numbers |= numbers
            self._reading.contrasts.setdefault("when", set()).update(when)
        else:
            for number in numbers:
                self._note_number(number, at, length, in_words=True)

    def _note_number(self, number: str, at: int, length: int, *, in_words: bool) -> None:
        """Note a number, or what one consists of that is said in several words: "twenty-five", "three hundred"."""
        numbers = self._reading.numbers
        if in_words and self._number and _NUMBER_JOINS.issuperset(self._plain[self._number_ends : at]):
            numbers.discard(self._number)
            number = f"{self._number}+{number}"
        numbers.add(number)
        self._number, self._number_ends = number, at + length

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
            self._note_number(each.plain, at, 1, in_words=False)
            self._named = None
            return
        if kind == "placeholder" or (kind == "capital" and not starts):
            reading.names.add(each.plain)
        elif kind == "capital" and at == 0 and self._leads and not each.stop:
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
