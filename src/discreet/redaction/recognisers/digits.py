"""Runs of digit groups, which telephone numbers and card numbers are made of."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple

from discreet.redaction.normalized_text import BLANK, Span

GROUP = re.compile(r"(?<![0-9])[0-9]{1,19}(?![0-9])")
"""No phone or card number has more than 19 digits, so a longer run of digits is none (ISO/IEC 7812-1, ITU-T E.164)."""

GAP = re.compile(r"[ .()-]{1,3}|[ ]?/[ ]?|[ .()-]{0,2}\r?\n[ ]{0,2}")
"""What may stand between two groups of one number. A comma or a tab may not: they separate the fields of a row."""

NEARBY = re.compile(r"[0-9](?:[^0-9]{0,3}[0-9]){6}")
"""Seven digits close together: text without them has no number of the kind."""

_DAY = r"(?:19|20)[0-9]{2}(?:[-./]?)(?:0[1-9]|1[0-2])(?:[-./]?)(?:0[1-9]|[12][0-9]|3[01])"
_HOUR = r"(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::(?:[0-5][0-9]|60))?"

LOOKALIKE = re.compile(
    r"(?<![0-9A-Za-z])(?:"
    r"(?:"
    r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"  # UUID
    r"|(?=[0-9]{0,127}[A-Fa-f])(?:[0-9A-Fa-f]{16}|[0-9A-Fa-f]{32}|[0-9A-Fa-f]{40}|[0-9A-Fa-f]{56}"
    r"|[0-9A-Fa-f]{64}|[0-9A-Fa-f]{96}|[0-9A-Fa-f]{128})"  # digest or trace id
    r")(?![0-9A-Za-z])"
    r"|(?:"
    rf"(?:{_DAY}[T _-]?)?{_HOUR}(?:[.,][0-9]{{1,9}})?(?: ?[+-][0-9]{{2}}:?[0-9]{{2}}(?!:)"
    rf"|[+-][0-9]{{2}})?(?: (?:19|20)[0-9]{{2}})?"  # 10:11:12.345678+0200
    rf"|{_DAY}[T_]?(?:[01][0-9]|2[0-3])[0-5][0-9](?:[0-5][0-9](?:\.[0-9]{{1,9}})?)?"  # 20240517T101112.345
    rf"|{_DAY}-[0-9]{{2}}\.[0-9]{{2}}\.[0-9]{{2}}(?:\.[0-9]{{1,6}})?|(?:19|20)[0-9]{{2}}-?(?:[0-3][0-9]{{2}}|W[0-5][0-9]-?[1-7])T{_HOUR}(?:[.,][0-9]{{1,9}})?"  # DB2, days of the year and of weeks
    r"|[0-3]?[0-9]-[A-Za-z]{3}-(?:[0-9]{2}|[0-9]{4}) [0-2][0-9]\.[0-5][0-9]\.[0-5][0-9](?:\.[0-9]{1,9})?"  # Oracle
    r"|[12][0-9]{9}\.[0-9]{1,9}(?!\.)|[12][0-9]{12}\.[0-9]{1,6}(?!\.)"  # seconds and milliseconds since 1970
    r"|(?:19|20)[0-9]{2}([-./ ])(?:0?[1-9]|1[0-2])\1(?:0?[1-9]|[12][0-9]|3[01])"  # 2024-05-17
    r"|(?:0?[1-9]|[12][0-9]|3[01])([-./ ])(?:0?[1-9]|[12][0-9]|3[01])\2(?:19|20)[0-9]{2}"  # 17.05.2024, 05/17/2024
    r"|(?<!\.)(?:(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])(?!\.[0-9])"  # IPv4
    r"|1[4-9][0-9]{11}(?:[0-9]{3}){0,2}"  # milliseconds since 1970, and finer
    r"|(?<![0-9][.-])(?:0\.[0-9]{2,30}|[1-9][0-9]{0,9}\.[0-9]{5,30})(?![.-][0-9])"  # decimal fraction
    r"|(?<![0-9.,])[0-9]{1,3}\.[0-9](?:[ ,;/|]{1,3}[0-9]{1,3}\.[0-9]){2,40}(?!\.)"  # several of them
    r"|(?!(?:TEL|PHONE|SDT|MOB|FAX|CALL|HP|WA|VISA|CARD|CC|MC|NO|NR)[0-9])[A-Z]{2,6}[0-9]{8,20}"  # tracking numbers
    r"|[0-9D][0-9]{2}-[0-9]{7}-[0-9]{7}"  # order numbers of Amazon
    r")(?![0-9])"
    r"|97[89]-[0-9]{1,5}-[0-9]{1,7}-[0-9]{1,6}-[0-9](?![0-9-])"  # ISBN
    r"|(?i:ISBN|ISSN|EAN|GTIN|UPC)(?:-1[03])?[ :#]{0,3}[0-9][0-9 -]{6,15}[0-9X]"
    r")"
)
"""Digits that are something else."""


LEAST_DIGITS = 7
"""No number that is looked for has fewer."""


class Window(NamedTuple):
    """Consecutive digit groups that may be one number."""

    start: int
    end: int
    digits: str
    """All digits without what separates them."""
    sizes: tuple[int, ...]
    """Digits in each group."""
    lines: int
    """Line breaks between the groups."""
    crowd: str
    """What stands between it and other digits beside it, if the same stands between its own groups; else nothing."""
    leading: bool
    """Whether nothing but a number that was found stands right before it in its chain, so that words may."""

    @property
    def spelled_out(self) -> bool:
        """Whether every group is one digit: `0 9 1 2 …`."""
        return set(self.sizes) == {1}


class Chain(NamedTuple):
    """Groups of digits with nothing but gaps between them."""

    groups: list[Span]
    sizes: tuple[int, ...]
    before: list[int]
    """Digits of the chain before each group, and before its end."""
    digits: str
    breaks: list[int]
    """Line breaks between the first group and each."""
    gaps: list[str]
    """What stands before each group, and after the last: nothing at both ends."""
    ones: list[int]
    """How many groups of one digit begin at each."""


class Digits(NamedTuple):
    """The text without look-alikes, and its chains."""

    text: str
    chains: list[Chain]


Choose = Callable[[Iterable[Window]], Window | None]
"""Is given the windows of one start, longest first; returns the one that is a number."""


def without_lookalikes(text: str) -> str:
    """Return `text`, equally long, with dates, UUIDs, digests, decimals, IPv4 addresses and ISBNs blanked.

    Text that has no phone or card number anyway comes back empty.
    """
    if not NEARBY.search(text):
        return ""
    return LOOKALIKE.sub(lambda match: BLANK * len(match[0]), text)


def digits_of(text: str) -> Digits:
    """Return the digits of a text; for `View.derived`, so that recognisers share one search."""
    text = without_lookalikes(text)
    return Digits(text, [_chain(text, run) for run in _runs(text) if _count(run) >= LEAST_DIGITS])


def scan(
    digits: Digits,
    *,
    least: int,
    most: int,
    most_groups: int,
    may: Callable[[str, tuple[int, ...]], object],
    choose: Choose,
) -> Iterator[Window]:
    """Return the windows that `choose` picks, left to right, of `least` to `most` digits and without overlaps.

    A window has at most `most_groups` groups, unless it is spelled out. Where other digits stand right before, `may` tells
    of the digits and groups that follow whether it is worth asking.
    """
    for chain in digits.chains:
        first, last, leading = 0, len(chain.groups), True
        while chain.before[-1] - chain.before[first] >= least:
            chosen: Window | None = None
            if leading or chain.sizes[first] > 1 or (first + 1 < last and chain.sizes[first + 1] > 2):
                # Within a chain a single digit begins a number only before a longer group, as in `42 8 912 345 67 89`.
                begin = chain.before[first]
                if leading or may(chain.digits[begin : begin + most], chain.sizes[first : first + most_groups]):
                    reach = max(most_groups, chain.ones[first])
                    low = bisect_left(chain.before, begin + least)
                    high = min(bisect_right(chain.before, begin + most), first + reach + 1)
                    chosen = choose(
                        _window(chain, first, end, leading=leading)
                        for end in range(high - 1, max(low, first + 1) - 1, -1)
                    )
            leading = chosen is not None
            if chosen:
                yield chosen
            first += len(chosen.sizes) if chosen else 1


def last_digit(text: str) -> int:
    """Return where the last digit of a short text stands; -1 if it has none. Words before it belong to something else."""
    return next((place for place in range(len(text) - 1, -1, -1) if text[place].isdigit()), -1)


def _window(chain: Chain, first: int, end: int, *, leading: bool) -> Window:
    return Window(
        chain.groups[first][0],
        chain.groups[end - 1][1],
        chain.digits[chain.before[first] : chain.before[end]],
        chain.sizes[first:end],
        chain.breaks[end - 1] - chain.breaks[first],
        next((gap for gap in (chain.gaps[first], chain.gaps[end]) if gap and gap in chain.gaps[first + 1 : end]), ""),
        leading,
    )


def _runs(text: str) -> Iterator[list[Span]]:
    """Return the groups of each unbroken run of groups and gaps."""
    run: list[Span] = []
    for group in GROUP.finditer(text):
        if run and not GAP.fullmatch(text, run[-1][1], group.start()):
            yield run
            run = []
        run.append(group.span())
    if run:
        yield run


def _count(run: list[Span]) -> int:
    first, last = run[0][0], run[-1][1]
    return last - first if last - first < LEAST_DIGITS else sum(end - start for start, end in run)


def _chain(text: str, groups: list[Span]) -> Chain:
    sizes = tuple(end - start for start, end in groups)
    gaps = ["", *(text[left[1] : right[0]] for left, right in pairwise(groups)), ""]
    ones: list[int] = []
    for size in reversed(sizes):
        ones.append(1 + (ones[-1] if ones else 0) if size == 1 else 0)
    return Chain(
        groups,
        sizes,
        [0, *accumulate(sizes)],
        "".join(text[start:end] for start, end in groups),
        list(accumulate(("\n" in gap for gap in gaps[1:-1]), initial=0)),
        gaps,
        ones[::-1],
    )
