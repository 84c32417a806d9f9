"""Runs of digit groups, which telephone numbers and card numbers are made of."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from discreet.redaction.view import BLANK, Span

GROUP = re.compile(r"(?<![0-9])[0-9]{1,19}(?![0-9])")
"""No phone or card number has more than 19 digits, so a longer run of digits is none (ISO/IEC 7812-1, ITU-T E.164)."""

GAP = re.compile(r"[ \t.()-]{1,3}|[ \t.()-]{0,2}\r?\n[ \t]{0,2}")
"""What may stand between two groups of one number. A comma may not: it separates the fields of a CSV row."""

NEARBY = re.compile(r"[0-9](?:[^0-9]{0,3}[0-9]){6}")
"""Seven digits close together: text without them has no number of the kind."""

LOOKALIKE = re.compile(
    r"(?<![0-9A-Za-z])(?:"
    r"(?:"
    r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"  # UUID
    r"|(?=[0-9]{0,127}[A-Fa-f])(?:[0-9A-Fa-f]{16}|[0-9A-Fa-f]{32}|[0-9A-Fa-f]{40}|[0-9A-Fa-f]{56}"
    r"|[0-9A-Fa-f]{64}|[0-9A-Fa-f]{96}|[0-9A-Fa-f]{128})"  # digest or trace id
    r")(?![0-9A-Za-z])"
    r"|(?:"
    r"(?:19|20)[0-9]{2}([-./ ])(?:0?[1-9]|1[0-2])\1(?:0?[1-9]|[12][0-9]|3[01])"  # 2024-05-17
    r"|(?:0?[1-9]|[12][0-9]|3[01])([-./ ])(?:0?[1-9]|[12][0-9]|3[01])\2(?:19|20)[0-9]{2}"  # 17.05.2024, 05/17/2024
    r"|(?<!\.)(?:(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])(?!\.[0-9])"  # IPv4
    r"|(?<![0-9][.-])(?:0|[1-9][0-9]{0,2})\.[0-9]{5,30}(?![.-][0-9])"  # decimal fraction
    r")(?![0-9])"
    r"|(?i:ISBN|ISSN|EAN|GTIN|UPC)(?:-1[03])?[ :#]{0,3}[0-9][0-9 -]{6,15}[0-9X]"
    r")"
)
"""Digits that are something else."""


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
    leading: bool
    """Whether no other digits stand right before it, so that words may."""

    @property
    def spelled_out(self) -> bool:
        """Whether every group is one digit: `0 9 1 2 …`."""
        return set(self.sizes) == {1}


Choose = Callable[[Sequence[Window]], Window | None]
"""Is given all windows of one start, longest first; returns the one that is a number."""


def without_lookalikes(text: str) -> str:
    """Return `text`, equally long, with dates, UUIDs, digests, decimals, IPv4 addresses and ISBNs blanked.

    Text that has no phone or card number anyway comes back empty.
    """
    if not NEARBY.search(text):
        return ""
    return LOOKALIKE.sub(lambda match: BLANK * len(match[0]), text)


def scan(text: str, *, least: int, most: int, choose: Choose) -> Iterator[Window]:
    """Return the windows that `choose` picks, left to right, of `least` to `most` digits and without overlaps."""
    for chain in _chains(text):
        sizes = tuple(end - start for start, end in chain)
        before = [0, *accumulate(sizes)]  # digits of the chain before each group, and before its end
        digits = "".join(text[start:end] for start, end in chain)
        breaks = _breaks_before(text, chain)
        first = 0
        while before[-1] - before[first] >= least:
            chosen: Window | None = None
            if _may_start(sizes, first):
                ends = range(bisect_left(before, before[first] + least), bisect_right(before, before[first] + most))
                windows = [
                    Window(
                        chain[first][0],
                        chain[end - 1][1],
                        digits[before[first] : before[end]],
                        sizes[first:end],
                        breaks[end - 1] - breaks[first],
                        first == 0,
                    )
                    for end in reversed(ends)
                ]
                chosen = choose(windows) if windows else None
            if chosen:
                yield chosen
            first += len(chosen.sizes) if chosen else 1


def _chains(text: str) -> Iterator[list[Span]]:
    """Return the groups of each unbroken run of groups and gaps."""
    chain: list[Span] = []
    for group in GROUP.finditer(text):
        if chain and not GAP.fullmatch(text, chain[-1][1], group.start()):
            yield chain
            chain = []
        chain.append(group.span())
    if chain:
        yield chain


def _breaks_before(text: str, chain: Sequence[Span]) -> list[int]:
    """Return for each group how many line breaks stand between it and the first."""
    gaps = (text[left[1] : right[0]] for left, right in pairwise(chain))
    return list(accumulate(("\n" in gap for gap in gaps), initial=0))


def _may_start(sizes: Sequence[int], index: int) -> bool:
    """Tell whether a number may begin at this group.

    Inside a chain a single digit begins one only before a longer group, as in `42 8 912 345 67 89`. This also keeps a long
    chain of single digits linear.
    """
    return index == 0 or sizes[index] > 1 or max(sizes[index + 1 : index + 2], default=0) > 2  # noqa: PLR2004 - as above
