"""What the ids of all countries share: finding digits in groups, codes with letters, and the words before them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import add
from typing import ClassVar, NamedTuple

from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.context import AMOUNT, OTHER_NUMBERS, Lead, Leads, Words, spaced
from discreet.redaction.recognisers.digits import digits_of
from discreet.redaction.recognisers.identifiers import digits_are_close, shape

S = r"(?:[ .\n-]|\r\n)?"
"""What may stand between any two characters of a code, for those who space it out."""

START, END = "(?<![A-Za-z0-9])", "(?![A-Za-z0-9])"
"""Edges of a code: letters of other scripts and `_` may stand beside it."""

SHAPES = {
    *((size,) for size in (8, 9, 10, 11, 12, 13, 14, 15, 16, 18)),
    (3, 2, 4), (2, 7), (3, 3, 4), (3, 3, 3), (3, 3, 3, 3), (4, 4, 4), (10, 3), (4, 6), (2, 2, 6), (3, 3, 3, 2), (6, 7),
    (2, 3, 3, 3), (13, 2), (1, 2, 2, 2, 3, 3), (1, 2, 2, 2, 3, 3, 2), (5, 5), (6, 8, 4), (6, 4, 4, 4),
}  # fmt: skip
"""Sizes of the groups in which countries print their numbers. Other groupings count if nothing else is in the run."""

SINGLE = frozenset(sizes[0] for sizes in SHAPES if len(sizes) == 1)
PRINTED = tuple(bytes(sizes) for sizes in sorted(SHAPES, key=len) if len(sizes) > 1)
"""The same apart: those of one group, and those of several as bytes, for a search in the sizes of a run."""

LEAST, MOST = 8, 18
"""Digits of the shortest and longest number."""

RUN = re.compile(r"[0-9]++(?:(?: - |[ .\n-]|\r\n)[0-9]++)*+")
GROUP = re.compile("[0-9]+")

NO_CODE = re.compile("[^A-Z0-9]++")

MOBILE = re.compile("[78]9[0-9]{9}|1[3-9][0-9]{9}")
"""Russian and Chinese mobiles have as many digits as several national ids."""


class Number(NamedTuple):
    """Digits that may be a national id."""

    start: int
    end: int
    digits: str
    sizes: tuple[int, ...]
    """Digits in each group."""
    separators: str
    """What stands between the groups, all of it in a row."""
    before: Lead
    """What introduces it."""
    behind: Lead
    """What is said of it afterwards."""

    def is_told(self, words: Words) -> bool:
        """Tell whether one of `words` is said of it."""
        return self.before.has(words) or self.behind.has(words)


class Numbers:
    """All numbers of one text, for `View.derived`, so that countries share one search."""

    def __init__(self, _: str) -> None:
        self._by_count: dict[int, list[Number]] | None = None

    def by_count(self, view: View) -> dict[int, list[Number]]:
        """Return all numbers by their count of digits."""
        if self._by_count is None:
            self._by_count = {}
            text, leads = view.derived(digits_of).text, view.derived(Leads)
            for run in RUN.finditer(text):
                if run.end() - run.start() >= LEAST:
                    for number in _of_run(run[0], run.start(), leads):
                        if not AMOUNT.match(text, number.end):
                            self._by_count.setdefault(len(number.digits), []).append(number)
        return self._by_count


def _of_run(run: str, start: int, leads: Leads) -> Sequence[Number]:
    """Return the run itself, if it is short enough, and each part in a printed shape that its neighbours don't continue."""
    if run.isdecimal():
        if len(run) > MOST:
            return ()
        end = start + len(run)
        return [Number(start, end, run, (len(run),), "", leads.before(start), leads.behind(end))]
    groups = GROUP.findall(run)
    sizes = (*map(len, groups),)
    total = sum(sizes)
    if total < LEAST:
        return ()
    gaps = GROUP.split(run)
    found = []
    if total <= MOST:
        end = start + len(run)
        found.append(Number(start, end, "".join(groups), sizes, "".join(gaps), leads.before(start), leads.behind(end)))
    gaps[0] = gaps[-1] = "\n"
    begins: list[int] = []
    for first, last in _parts(sizes, gaps):
        begins = begins or [*accumulate(map(add, sizes, map(len, gaps[1:])), initial=start)]
        begin = begins[first]
        inner = "".join(gaps[first + 1 : last])
        digits = "".join(groups[first:last])
        end = begin + len(digits + inner)
        before, behind = leads.before(begin), leads.behind(end)
        found.append(Number(begin, end, digits, sizes[first:last], inner, before, behind))
    return found


def _parts(sizes: tuple[int, ...], gaps: list[str]) -> Iterator[Span]:
    """Return first and last of the groups of each part, of which the gaps around the groups say that it is one."""
    if max(sizes) >= LEAST:
        for at, size in enumerate(sizes):
            if size in SINGLE and all("\n" in gap or gap not in "-." for gap in gaps[at : at + 2]):
                yield at, at + 1
    coded = bytes(min(size, MOST + 1) for size in sizes) if len(sizes) > 2 else b""  # else nothing is left
    for printed in PRINTED:
        if len(printed) >= len(coded):
            break
        first = coded.find(printed)
        while first >= 0:
            last = first + len(printed)
            left, right, inner = gaps[first], gaps[last], gaps[first + 1 : last]
            if ("\n" in left or left not in inner) and ("\n" in right or right not in inner):
                yield first, last
            first = coded.find(printed, first + 1)


@dataclass(frozen=True, slots=True)
class Digits:
    """One kind of number."""

    counts: tuple[int, ...]
    """How many digits it has."""
    alone: Callable[[Number], bool] | None = None
    """Tells whether a number is one without any word before it."""
    words: Words | None = None
    """Words after which every number of that many digits is one: wrong check digits are typing errors."""
    shapes: frozenset[tuple[int, ...]] = field(default_factory=frozenset)
    """Groupings that stand alone."""

    def fits(self, number: Number) -> bool:
        """Tell whether the number is of this kind."""
        if self.alone and number.sizes in self.shapes and self.alone(number):
            mobile = len(number.sizes) == 1 and MOBILE.fullmatch(number.digits)
            if not mobile and not number.before.has(OTHER_NUMBERS):
                return True
        return self.words is not None and number.is_told(self.words)


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of code that has letters."""

    pattern: re.Pattern[str]
    shapes: tuple[bytes, ...] = (b"",)
    """Parts of its `shape`: text without any of them has no such code."""
    alone: Callable[[str], bool] | None = None
    """Tells whether a code, without separators and in capitals, is one without any word before it."""
    words: Words | None = None
    """Words after which everything that has its form is one."""

    def may_occur(self, view: View, shape: bytes) -> bool:
        """Tell whether it is worth searching a text, whose shape is given, for such codes."""
        if not any(part in shape for part in self.shapes):
            return False
        return self.alone is not None or (self.words is not None and self.words.occur(view.derived(spaced)))

    def fits(self, match: re.Match[str], leads: Leads) -> bool:
        """Tell whether the match is of this kind."""
        before = leads.before(match.start())
        if self.alone and not before.has(OTHER_NUMBERS):
            code = match[0].upper()
            if self.alone(code if code.isalnum() else NO_CODE.sub("", code)):
                return True
        return self.words is not None and (before.has(self.words) or leads.behind(match.end()).has(self.words))


class NationalIdRecogniser:
    """Finds the ids of one country."""

    type = "NATIONAL_ID"
    LEAST_DIGITS = 4
    NUMBERS: ClassVar[tuple[Digits, ...]] = ()
    CODES: ClassVar[tuple[Code, ...]] = ()

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all ids."""
        if not view.derived(digits_are_close):
            return
        if self.NUMBERS and (found := view.derived(Numbers).by_count(view)):
            for kind in self.NUMBERS:
                for count in kind.counts:
                    if count in found:
                        yield from (each[:2] for each in found[count] if kind.fits(each))
        if self.CODES:
            yield from self._codes(view, view.derived(Leads), view.derived(shape))

    def _codes(self, view: View, leads: Leads, form: bytes) -> set[Span]:
        found: set[Span] = set()
        for code in self.CODES:
            if code.may_occur(view, form):
                for match in code.pattern.finditer(view.text):
                    if match.span() not in found and code.fits(match, leads):
                        found.add(match.span())
        return found
