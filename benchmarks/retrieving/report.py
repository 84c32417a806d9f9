"""Figures as tables or as JSON, and which targets they meet."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby

from retrieving.measures import Judged, Quality, intervals, mean


@dataclass(frozen=True)
class Line:
    """One way to order, on one group of questions."""

    group: str
    way: str
    questions: int
    quality: Quality
    intervals: list[tuple[float, float]]
    """95 %, of each figure."""


@dataclass(frozen=True)
class Target:
    """What a figure should be."""

    what: str
    value: float
    at_least: float | None = None
    at_most: float | None = None

    @property
    def met(self) -> bool:
        """Whether it is."""
        return (self.at_least is None or self.value >= self.at_least) and (
            self.at_most is None or self.value <= self.at_most
        )


def line(group: str, way: str, lists: Sequence[Judged]) -> Line:
    """Return what was measured in one way on one group."""
    return Line(group, way, len(lists), mean(lists), intervals(lists))


def machine() -> str:
    """Return one line about where the figures come from."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"


def as_json(lines: Sequence[Line], targets: Sequence[Target], notes: Sequence[str]) -> str:
    """Return everything for programs."""
    rows = [{**asdict(each), "quality": each.quality._asdict()} for each in lines]
    wanted = [{**asdict(target), "met": target.met} for target in targets]
    return json.dumps({"machine": machine(), "lines": rows, "targets": wanted, "notes": list(notes)}, indent=2)


def as_text(lines: Sequence[Line], targets: Sequence[Target], notes: Sequence[str]) -> str:
    """Return everything for people."""
    text = [
        machine(),
        f"{'':40}{'questions':>9}  " + "".join(f"{name:20}" for name in ("R@5", "R@10", "R@20", "MRR")).rstrip(),
    ]
    for group, members in groupby(lines, key=lambda each: each.group):
        text.append(group)
        for each in members:
            cells = (
                f"{_share(value)} ({_share(low)}–{_share(high)})".ljust(20)
                for value, (low, high) in zip(each.quality, each.intervals, strict=True)
            )
            text.append(f"  {each.way:38}{each.questions:>9}  {''.join(cells)}".rstrip())
    text += ["Targets", *map(_target, targets)] if targets else []
    return "\n".join([*text, *(f"* {note}" for note in notes)])


def _target(target: Target) -> str:
    bound = f">= {_share(target.at_least)}" if target.at_least is not None else f"<= {target.at_most:g}"
    value = _share(target.value) if target.at_least is not None else f"{target.value:g}"
    return f"  {target.what:70}{value:>5}  {bound:8}{'met' if target.met else 'missed'}"


def _share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")
