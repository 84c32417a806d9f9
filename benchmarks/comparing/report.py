"""The figures as a table or as JSON, and the machine they come from."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from statistics import median

from comparing.intervals import ratio_interval


@dataclass(frozen=True)
class Figure:
    """One line: what each side needed, and the value that the target is about."""

    group: str
    what: str
    unit: str
    stock: float
    ours: float
    value: float
    """ours / stock, or the figure of ours itself."""
    at_most: float | None = None
    """Target, an upper bound."""
    at_least: float | None = None
    """Target, a lower bound."""
    peer: str = "stock"
    """What ours is compared with."""
    pairs: int = 1
    """Repetitions, each with both sides."""
    interval: tuple[float, float] | None = None
    """95 %, of ours / stock."""

    @property
    def target(self) -> float | None:
        """The bound, if there is one."""
        return self.at_least if self.at_most is None else self.at_most

    @property
    def met(self) -> bool | None:
        """Whether the target is met, if there is one."""
        if self.at_most is not None:
            return self.value <= self.at_most
        return None if self.at_least is None else self.value >= self.at_least


class Group:
    """Figures of one measurement, from the values that its repetitions gave for each side."""

    def __init__(self, title: str) -> None:
        self.figures: list[Figure] = []
        self._title = title

    def ratio(
        self,
        what: str,
        unit: str,
        stock: Sequence[float],
        ours: Sequence[float],
        *,
        at_most: float | None = None,
        at_least: float | None = None,
        peer: str = "stock",
    ) -> None:
        """Add the medians and ours / stock. The target bounds that ratio."""
        one, other = median(stock), median(ours)
        self.figures.append(
            Figure(
                *(self._title, what, unit, one, other),
                value=other / one,
                at_most=at_most,
                at_least=at_least,
                peer=peer,
                pairs=len(ours),
                interval=ratio_interval(stock, ours),
            )
        )

    def figure(
        self,
        what: str,
        unit: str,
        stock: Sequence[float],
        ours: Sequence[float],
        *,
        at_most: float | None = None,
        peer: str = "stock",
    ) -> None:
        """Add the medians. The target bounds that of ours."""
        one, other = median(stock), median(ours)
        self.figures.append(Figure(self._title, what, unit, one, other, value=other, at_most=at_most, peer=peer))


def machine(server_version: str, *packages: str) -> str:
    """Return one line about where the figures come from, with the versions of `packages` too."""
    more = "".join(f", {package} {version(package)}" for package in packages)
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, "
        f"PostgreSQL {server_version}, langgraph {version('langgraph')}, "
        f"langgraph-checkpoint-postgres {version('langgraph-checkpoint-postgres')}{more}"
    )


def as_json(figures: Sequence[Figure], where: str, notes: Sequence[str] = ()) -> str:
    """Return the figures for programs."""
    rows = [{**asdict(figure), "met": figure.met} for figure in figures]
    return json.dumps({"machine": where, "figures": rows, "notes": list(notes)}, indent=2)


def as_table(figures: Sequence[Figure], where: str, notes: Sequence[str] = (), *, other: str = "stock") -> str:
    """Return the figures for people; `other` is what ours is compared with."""
    lines = [where, f"{'':44}{other:>12}{'ours':>12}{'':12}{f'ours/{other}':>12}{'target':>12}"]
    group = ""
    for figure in figures:
        if figure.group != group:
            group = figure.group
            lines.append(group)
        mark = {None: "", True: "  met", False: "  missed"}[figure.met]
        lines.append(
            f"  {_named(figure):42}{figure.stock:>12,.2f}{figure.ours:>12,.2f} {figure.unit:11}"
            f"{_fraction(figure.ours / figure.stock) if figure.stock else '':>12}{_target(figure):>12}{mark}{_interval(figure)}"
        )
    return "\n".join([*lines, *(f"note: {note}" for note in notes)])


def _named(figure: Figure) -> str:
    """Return what the figure is about, with the peer unless it is the one of the column."""
    told = figure.peer == "stock" or figure.what.endswith(figure.peer)
    return figure.what if told else f"{figure.what}: {figure.peer}"


def _target(figure: Figure) -> str:
    if figure.at_most is not None:
        return f"<= {_fraction(figure.at_most)}"
    return "" if figure.at_least is None else f">= {_fraction(figure.at_least)}"


def _interval(figure: Figure) -> str:
    """Return the 95 % interval of the ratio, for the end of a line."""
    if figure.interval is None:
        return ""
    return f"  [{', '.join(map(_fraction, figure.interval))}] of {figure.pairs} pairs"


def _fraction(value: float) -> str:
    return f"1/{1 / value:.3g}" if 0 < value < 1 else f"{value:.3g}"
