"""Figures of decisions: shares with their Wilson intervals, and confusion."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discreet.ports import SpokenRound

Z = 1.96


@dataclass(frozen=True)
class Turn:
    """A labelled message."""

    part: str
    text: str
    lang: str
    kind: str
    retrieve: bool
    previous: SpokenRound | None = None
    """The round before it, if it has one."""


@dataclass(frozen=True)
class Share:
    """How many of how many."""

    hits: int
    of: int

    @property
    def value(self) -> float:
        """The share, 1 of nothing."""
        return self.hits / self.of if self.of else 1.0

    def interval(self) -> tuple[float, float]:
        """Return the 95 % interval (Wilson, 1927)."""
        if not self.of:
            return 0.0, 1.0
        p, n = self.value, self.of
        centre = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
        half = Z * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n)) / (1 + Z * Z / n)
        return max(0.0, centre - half), min(1.0, centre + half)

    def __str__(self) -> str:
        low, high = self.interval()
        return f"{self.value:6.1%} ({low:.1%}-{high:.1%}) of {self.of}"

    def plain(self) -> dict[str, float]:
        """Return the share for JSON."""
        low, high = self.interval()
        return {"value": self.value, "low": low, "high": high, "of": self.of}


def share(turns: Sequence[tuple[Turn, bool]], hit: Callable[[Turn, bool], bool]) -> Share:
    """Return which share of turns with their decisions are a hit."""
    return Share(sum(hit(turn, decided) for turn, decided in turns), len(turns))


def measure(decided: Sequence[tuple[Turn, bool]]) -> dict[str, Share]:
    """Return accuracy, recall of what needs memory, and the share that is skipped, rightly and in all."""
    return {
        "accuracy": share(decided, lambda turn, said: turn.retrieve == said),
        "recall of retrieve": share([d for d in decided if d[0].retrieve], lambda _turn, said: said),
        "recall of skip": share([d for d in decided if not d[0].retrieve], lambda _turn, said: not said),
        "skipped": share(decided, lambda _turn, said: not said),
    }
