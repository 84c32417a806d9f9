"""Figures as tables or as JSON, and which targets they meet."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from redacting.engines import OURS
from redacting.statistics import Share


@dataclass(frozen=True)
class Figure:
    """One number."""

    group: str
    what: str
    value: float
    unit: str
    engine: str = OURS
    at_most: float | None = None
    """Target."""
    count: tuple[int, int] | None = None
    """How many of how many, if it is a share."""
    interval: tuple[float, float] | None = None
    """95 %, of a share in percent."""
    pairs: int = 1
    """Texts that ours was measured on too."""
    ratio_interval: tuple[float, float] | None = None
    """95 %, of ours / this."""

    @property
    def met(self) -> bool | None:
        """Whether the target is met, if there is one."""
        return None if self.at_most is None else self.value <= self.at_most


@dataclass(frozen=True)
class Earlier:
    """The figures of an earlier run."""

    machine: str = ""
    values: Mapping[tuple[str, str, str], float] = field(default_factory=dict)
    """Group, what, engine -> value."""

    def of(self, figure: Figure) -> float | None:
        """Return what a figure was, None if it wasn't measured."""
        return self.values.get((figure.group, figure.what, figure.engine))


NOTHING_EARLIER = Earlier()


def read_earlier(path: Path) -> Earlier:
    """Return the figures of a file that `as_json` made.

    Raises:
        ValueError: It is something else.
        OSError: It can't be read.
    """
    data = json.loads(path.read_text(encoding="utf-8"))
    try:
        values = {(each["group"], each["what"], each["engine"]): float(each["value"]) for each in data["figures"]}
        return Earlier(data["machine"], values)
    except (KeyError, TypeError) as error:
        raise ValueError("no figures of this program") from error


def share(group: str, what: str, of: Share, *, at_most: float | None = None, engine: str = OURS) -> Figure:
    """Return a share as a figure. One of nothing has no target that it could meet."""
    target = at_most if of.total else None
    return Figure(group, what, of.rate, "%", engine, target, (of.bad, of.total), of.interval)


def machine() -> str:
    """Return one line about where the figures come from."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"


def as_json(
    figures: Sequence[Figure], notes: Sequence[str], extra: dict[str, Any], earlier: Earlier = NOTHING_EARLIER
) -> str:
    """Return everything for programs."""
    rows = [{**asdict(figure), "met": figure.met, "before": earlier.of(figure)} for figure in figures]
    return json.dumps({"machine": machine(), "figures": rows, "notes": list(notes), **extra}, indent=2)


def as_text(
    figures: Sequence[Figure], notes: Sequence[str], extra: dict[str, Any], earlier: Earlier = NOTHING_EARLIER
) -> str:
    """Return everything for people."""
    lines = [machine(), *([f"before: {earlier.machine}"] if earlier.values else [])]
    for group, members in groupby(figures, key=lambda figure: figure.group):
        several = list(members)
        lines += ["", group]
        if len({each.engine for each in several}) > 1:
            lines += _side_by_side(several, earlier)
        else:
            lines += (_line(each) + _before(each, earlier) for each in several)
    for title, table in extra.items():
        lines += ["", title, *_table(table)]
    lines += ["", "Targets", *targets(figures, earlier)]
    return "\n".join([*lines, *(f"note: {note}" for note in notes)])


def targets(figures: Sequence[Figure], earlier: Earlier = NOTHING_EARLIER) -> Iterator[str]:
    """Yield a line for each figure that has a target: met or not, what was seen, its interval, the target."""
    for figure in figures:
        if figure.at_most is not None:
            verdict = "met" if figure.met else "MISSED"
            what = f"{figure.group}: {figure.what}"
            seen = f"{_number(figure.value):>9} {_interval(figure):16}"
            yield f"  {verdict:8}{what:84}{seen} <= {_number(figure.at_most)} {figure.unit}{_before(figure, earlier)}"


def _line(figure: Figure) -> str:
    text = f"  {figure.what:56}{_number(figure.value):>9} {figure.unit:3}"
    if figure.count and figure.interval:
        text += f"  {_interval(figure)}  {figure.count[0]:>5} of {figure.count[1]}"
    return text


def _interval(figure: Figure) -> str:
    if not figure.interval:
        return ""
    low, high = figure.interval
    return f"[{low:5.1f}, {high:5.1f}]"


def _before(figure: Figure, earlier: Earlier) -> str:
    value = earlier.of(figure)
    return "" if value is None else f"  before {_number(value)}"


def _side_by_side(figures: Sequence[Figure], earlier: Earlier) -> Iterator[str]:
    engines = list(dict.fromkeys(figure.engine for figure in figures))
    widths = {engine: max(20, len(engine) + 2) for engine in engines}
    yield f"  {'':40}" + "".join(f"{engine:>{width}}" for engine, width in widths.items())
    for what in dict.fromkeys(figure.what for figure in figures):
        row = {figure.engine: figure for figure in figures if figure.what == what}
        cells = {engine: _compared(row[engine], earlier) if engine in row else "" for engine in engines}
        yield f"  {what:40}" + "".join(f"{cell:>{widths[engine]}}" for engine, cell in cells.items())


def _compared(figure: Figure, earlier: Earlier) -> str:
    value = earlier.of(figure)
    before = "" if value is None else f" ({_number(value)})"
    return f"{_number(figure.value)} {figure.unit}{before}"


def _table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield lines of columns that are as wide as their widest cell."""
    if not rows:
        yield "  nothing"
        return
    cells = [[str(name) for name in rows[0]], *([_cell(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _cell(value: object) -> str:
    return _number(value) if isinstance(value, float) else str(value)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"  # from here on decimals are noise
