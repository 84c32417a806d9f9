"""Lay out charts. All lengths are percent of the drawing, so that it fits any width and its text keeps its size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import ceil, floor, log10
from typing import Final, NamedTuple

from rich.filesize import decimal

from discreet.scanning.report import GrowthStep

LEAST: Final = 1.0
"""Of a segment that is there, so that it is seen beside others a million times as large."""
MOST_SERIES: Final = 6
"""Colours that a person tells apart; where there are more series, the smaller ones share one more."""
THOUSAND: Final = 1_000
LEFT, RIGHT, TOP, BOTTOM = 16.0, 90.0, 8.0, 82.0
"""Where the axes end."""
MOST_TIMES: Final = 100
"""Of a step the first, where a phone has room for the names of all between them."""


class Segment(NamedTuple):
    """A part of a bar."""

    x: float
    width: float
    series: int
    amount: int


def bar(counts: Iterable[int], most: int) -> list[Segment]:
    """Return the parts of a bar, where `most` is all the width."""
    segments: list[Segment] = []
    x = 0.0
    for series, count in enumerate(counts):
        if count > 0:
            width = max(0.0, min(100.0 - x, max(LEAST, 100 * count / most)))
            segments.append(Segment(round(x, 3), round(width, 3), series, count))
            x += width
    return segments


def stacks(rows: Mapping[str, Mapping[str, int]]) -> tuple[list[str], dict[str, list[Segment]]]:
    """Return the names of the series, the largest first, and for each row a bar of them."""
    sums = sum((Counter(row) for row in rows.values()), Counter[str]())
    series = [name for name, _ in sums.most_common()]
    named = series if len(series) <= MOST_SERIES + 1 else series[:MOST_SERIES]
    others = len(series) - len(named)
    most = max((sum(row.values()) for row in rows.values()), default=0)
    bars: dict[str, list[Segment]] = {}
    for name, row in rows.items():
        counts = [row.get(each, 0) for each in named]
        bars[name] = bar([*counts, sum(row.values()) - sum(counts)], most)
    return [*named, f"{others:,} other tables"] if others else named, bars


class Plot(NamedTuple):
    """Mean size of threads against their length, both by powers of ten."""

    points: list[tuple[float, float, GrowthStep]]
    across: list[tuple[float, str]]
    up: list[tuple[float, str]]
    proportional: float
    """How high a line ends that begins at the first point and grows as the length does."""


def plot(steps: Sequence[GrowthStep]) -> Plot | None:
    """Return the growth of threads; None if there are not two steps to compare."""
    known = [step for step in steps if step.mean_bytes > 0 and step.checkpoints > 0]
    if not known or known[0].checkpoints >= known[-1].checkpoints:
        return None
    first, last = known[0], known[-1]
    times = last.checkpoints / first.checkpoints
    sizes = [*(step.mean_bytes for step in known), first.mean_bytes * times]
    low, high = floor(log10(min(sizes))), ceil(log10(max(sizes)))

    def x(checkpoints: int) -> float:
        return round(LEFT + (RIGHT - LEFT) * log10(checkpoints / first.checkpoints) / log10(times), 2)

    def y(size: float) -> float:
        return round(BOTTOM - (BOTTOM - TOP) * (log10(size) - low) / (high - low), 2)

    named = [step.checkpoints for step in known]
    if times > MOST_TIMES:
        named = [10**power for power in range(ceil(log10(first.checkpoints)), floor(log10(last.checkpoints)) + 1)]
    return Plot(
        points=[(x(step.checkpoints), y(step.mean_bytes), step) for step in known],
        across=[(x(each), f"{each:,}" if each < THOUSAND else f"{each / THOUSAND:,g}k") for each in named],
        up=[(y(10**power), decimal(10**power, precision=0).replace("bytes", "B")) for power in range(low, high + 1)],
        proportional=y(first.mean_bytes * times),
    )
