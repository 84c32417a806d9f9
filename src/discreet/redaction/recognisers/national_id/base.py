"""What the ids of all countries share: finding digits in groups, codes with letters, and the words before them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar, NamedTuple

from discreet.redaction.recognisers.context import AMOUNT, OTHER_NUMBERS, Words, lead
from discreet.redaction.recognisers.digits import without_lookalikes
from discreet.redaction.view import Span, View

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

BY_FIRST = {size: tuple(shape for shape in SHAPES if shape[0] == size) for size, *_ in SHAPES}

LEAST, MOST = 8, 18
"""Digits of the shortest and longest number."""

RUN = re.compile(r"[0-9]++(?:(?: - |[ .\n-]|\r\n)[0-9]++)*+")
GROUP = re.compile("[0-9]+")

CLOSE = re.compile(r"[0-9](?:[^0-9]{0,3}[0-9]){3}")
"""Four digits close together: no code with letters has fewer."""

BESIDE = re.compile(r"[0-9][ .\n-]?(?:[^\W\d_]|[)№#])|[^\W\d_][ .\n-]?[0-9]")
"""A letter beside a digit: tables of numbers have no codes."""

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
    before: str
    """What introduces it, see `context.lead`."""


def numbers(text: str) -> dict[int, list[Number]]:
    """Return all numbers by their count of digits; for `View.derived`, so that countries share one search."""
    text = without_lookalikes(text)
    found: dict[int, list[Number]] = {}
    for run in RUN.finditer(text):
        for number in _of_run(text, run):
            if AMOUNT.match(text, number.end):
                continue
            found.setdefault(len(number.digits), []).append(number)
    return found


def _of_run(text: str, run: re.Match[str]) -> Iterator[Number]:
    """Return the run itself, if it is short enough, and each part in a printed shape that its neighbours don't continue."""
    if run.end() - run.start() < LEAST:
        return
    groups = [group.span() for group in GROUP.finditer(text, *run.span())]
    sizes = tuple(end - start for start, end in groups)
    gaps = ["\n", *(text[left[1] : right[0]] for left, right in pairwise(groups)), "\n"]
    total = sum(sizes) if len(sizes) <= MOST else 0
    if LEAST <= total <= MOST:
        yield _number(text, groups, sizes, gaps)
    for first, size in enumerate(sizes):
        for shape in BY_FIRST.get(size, ()):
            last = first + len(shape)
            if sizes[first:last] == shape and len(shape) < len(sizes):
                inner = {*gaps[first + 1 : last]} or {"-", "."}
                if all("\n" in gap or gap not in inner for gap in (gaps[first], gaps[last])):
                    yield _number(text, groups[first:last], shape, gaps[first : last + 1])


def _number(text: str, groups: list[Span], sizes: tuple[int, ...], gaps: list[str]) -> Number:
    digits = "".join(text[start:end] for start, end in groups)
    return Number(groups[0][0], groups[-1][1], digits, sizes, "".join(gaps[1:-1]), lead(text, groups[0][0]))


def letters_near_digits(text: str) -> str:
    """Return `text` if it may hold a code with letters, else an empty one; for `View.derived`."""
    return text if CLOSE.search(text) and BESIDE.search(text) else ""


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
            if not mobile and not OTHER_NUMBERS.introduce(number.before):
                return True
        return self.words is not None and self.words.introduce(number.before)


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of code that has letters."""

    pattern: re.Pattern[str]
    alone: Callable[[str], bool] | None = None
    """Tells whether a code, without separators and in capitals, is one without any word before it."""
    words: Words | None = None
    """Words after which everything that has its form is one."""

    def fits(self, text: str, match: re.Match[str]) -> bool:
        """Tell whether the match is of this kind."""
        code = re.sub(r"[^A-Z0-9]", "", match[0].upper())
        before = lead(text, match.start())
        if self.alone and self.alone(code) and not OTHER_NUMBERS.introduce(before):
            return True
        return self.words is not None and self.words.introduce(before)


class NationalIdRecogniser:
    """Finds the ids of one country."""

    type = "NATIONAL_ID"
    NUMBERS: ClassVar[tuple[Digits, ...]] = ()
    CODES: ClassVar[tuple[Code, ...]] = ()

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all ids."""
        text = view.text
        if self.NUMBERS and (found := view.derived(numbers)):
            for kind in self.NUMBERS:
                for count in kind.counts:
                    yield from (each[:2] for each in found.get(count, ()) if kind.fits(each))
        near: str = view.derived(letters_near_digits) if self.CODES else ""
        if near:
            for code in self.CODES:
                yield from (match.span() for match in code.pattern.finditer(text) if code.fits(text, match))
