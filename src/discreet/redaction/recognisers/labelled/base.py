"""Values that a word says what they are: a number behind "account number", a date behind "born"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, NamedTuple

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.word_index import Kinds, Place
from discreet.redaction.word_set import small
from discreet.redaction.words import any_of, words

MOST_GAP = 44
"""Characters between a word and what it names."""
MOST_WORDS = 7

GAP = lazy(
    r"\.?(?:[^.!?。！？;\d\n\0]|(?<![^\W\d_])(?:no|nr|nº|n|núm|num|nro|rek|acc|st|sr|dr|t|c|ur|geb|nac|г|р|д|сч|№)\.)*(?:[:=]?[ \t]*\r?\n[ \t>]*)?"
)
"""What may stand there: words of the same sentence, and a line break behind a colon."""
MOST_BEFORE = 64
LINK = lazy(
    rf"[\"'”»)]?,? ?(?:(?:{any_of((*words('telling', 'is'), '-', '(', 'as'))}) ?)?(?:(?:{any_of(words('telling', 'whose'))}) ?){{0,2}}\Z"
)
"""What stands between a value and its word behind it: " is my "."""
DIGIT = lazy("[0-9]")
DATE = lazy(r"(?:19|20)[0-9]{2}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.](?:19|20)?[0-9]{2}")


class Labelled(NamedTuple):
    """A word, what it names, and what stands between the two."""

    name: str
    gap: str
    value: str

    @property
    def words_between(self) -> int:
        """How many words stand between."""
        return len(self.gap.split())

    @property
    def digits(self) -> int:
        """How many digits the value has."""
        return sum(map(str.isdigit, self.value))


class LabelledRecogniser:
    """Finds what has the form of `VALUE` behind one of the words `NAMES`, and is `valid`."""

    type: ClassVar[str]
    LEAST_DIGITS = 2
    VALUE: ClassVar[re.Pattern[str]]
    DATED: ClassVar[bool] = False
    """Whether a date can be one."""
    NAMES: ClassVar[Kinds]
    """The words."""

    def valid(self, found: Labelled) -> bool:
        """Tell whether a value is what its word says."""
        raise NotImplementedError

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all values."""
        text = view.text
        if not DIGIT.search(text):
            return
        lowered = view.derived(small)
        place = 0
        for name in self.NAMES.found(view):
            if name.start < place:
                continue
            place = name.end
            value = self.VALUE.search(text, place, min(len(text), place + MOST_GAP + 40))
            gap = lowered[place : value.start()] if value else ""
            if (
                value
                and len(gap) <= MOST_GAP
                and GAP.fullmatch(gap)
                and len(gap.split()) <= MOST_WORDS
                and (self.DATED or not DATE.fullmatch(value[0]))
                and self.valid(Labelled(lowered[name.start : place], gap, value[0]))
            ):
                yield value.span()
            elif before := self._before(text, lowered, name):
                yield before

    def _before(self, text: str, lowered: str, name: Place) -> Span | None:
        """Return the span of a value that its word follows: "110-234-567890 is my account"."""
        first = max(0, name.start - MOST_BEFORE)
        link = LINK.search(lowered, first, name.start)
        if link is None or not text[link.start() - 1 : link.start()].isalnum():
            return None
        for value in self.VALUE.finditer(text, first, link.start() + 1):
            if value.end() == link.start() and self.valid(Labelled(lowered[slice(*name)], ":", value[0])):
                return value.span()
        return None
