"""Lay out charts, as numbers only: all lengths are percent of the drawing, so that it fits any width and its text stays as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Final, NamedTuple

from rich.filesize import decimal

from discreet.scanning.report import GrowthStep

LEAST: Final = 0.4
"""Of a segment that is there, so that it is seen beside others a million times as large."""
MOST_SERIES: Final = 6
"""Colours that a person tells apart; what remains is one series, the last."""
LEFT, RIGHT, TOP, BOTTOM = 16.0, 93.0, 8.0, 88.0
"""Where the axes end."""
MOST_LABELS: Final = 6
"""Below an axis on a phone."""


class Segment(NamedTuple):
    """A part of a bar."""

    x: float
    width: float
    series: int
    count: int


def bar(counts: Sequence[int], most: int) -> list[Segment]:
    """Return the parts of a bar, where `most` is all the width."""
    segments: list[Segment] = []
    x = 0.0
    for series, count in enumerate(counts):
        if count > 0:
            width = min(100.0 - x, max(LEAST, 100 * count / most))
            segments.append(Segment(round(x, 3), round(max(0.0, width), 3), series, count))
            x += width
    return segments


def bars(counts: Mapping[str, int]) -> dict[str, list[Segment]]:
    """Return a bar of one part for each count, the largest all the width."""
    most = max(counts.values(), default=0)
    return {name: bar([count], most) for name, count in counts.items()}


class Stacks(NamedTuple):
    """Bars of several series."""

    series: list[str]
    bars: dict[str, list[Segment]]


def stacks(rows: Mapping[str, Mapping[str, int]]) -> Stacks:
    """Return a bar for each row, of the same series in the same order; the smallest series, where there are many, are one."""
    sums: Counter[str] = Counter()
    for row in rows.values():
        sums.update(row)
    series = [name for name, _ in sums.most_common()]
    if len(series) > MOST_SERIES + 1:
        named, others = series[:MOST_SERIES], series[MOST_SERIES:]
    else:
        named, others = series, []
    most = max((sum(row.values()) for row in rows.values()), default=0)
    parts = {
        name: [*(row.get(each, 0) for each in named), sum(row.get(each, 0) for each in others)]
        for name, row in rows.items()
    }
    shown = [*named, f"{len(others)} other tables"] if others else named
    return Stacks(shown, {name: bar(counts, most) for name, counts in parts.items()})


class Point(NamedTuple):
    """A step of growth."""

    x: float
    y: float
    step: GrowthStep


class Tick(NamedTuple):
    """A mark of an axis."""

    at: float
    text: str
    is_minor: bool = False


@dataclass(frozen=True)
class Plot:
    """Mean size of threads against their length, both axes by powers of ten."""

    points: list[Point]
    across: list[Tick]
    up: list[Tick]
    proportional: tuple[float, float]
    """Where a line ends that begins at the first point and grows as the length does."""


def plot(steps: Sequence[GrowthStep]) -> Plot | None:
    """Return the growth of threads as a plot; None if there are not two steps to compare."""
    known = [step for step in steps if step.mean_bytes > 0 and step.checkpoints > 0]
    if not known or known[0].checkpoints >= known[-1].checkpoints:
        return None
    first, last = known[0], known[-1]
    end = first.mean_bytes * last.checkpoints / first.checkpoints
    sizes = [*(float(step.mean_bytes) for step in known), end]
    low, high = floor(log10(min(sizes))), ceil(log10(max(sizes)))
    high = max(high, low + 1)

    def x(checkpoints: float) -> float:
        along = log10(checkpoints / first.checkpoints) / log10(last.checkpoints / first.checkpoints)
        return round(LEFT + (RIGHT - LEFT) * along, 2)

    def y(size: float) -> float:
        return round(BOTTOM - (BOTTOM - TOP) * (log10(size) - low) / (high - low), 2)

    return Plot(
        points=[Point(x(step.checkpoints), y(step.mean_bytes), step) for step in known],
        across=[
            Tick(
                x(step.checkpoints),
                f"{step.checkpoints:,}",
                len(known) > MOST_LABELS and log10(step.checkpoints) % 1 != 0,
            )
            for step in known
        ],
        up=[Tick(y(10.0**power), decimal(10**power, precision=0)) for power in range(low, high + 1)],
        proportional=(x(last.checkpoints), y(end)),
    )
