"""The service levels, and what was measured beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from comparing.spread import Spread
from loading.tally import Tally

LEVELS: Mapping[str, tuple[float, float, float]] = {
    "short-term read": (5, 10, 20),
    "short-term write": (10, 20, 50),
    "log write": (50, 100, 200),
    "search": (200, 500, 1_000),
    "store": (50, 100, 200),
}
"""Milliseconds that half, 95 % and 99 % of the operations take at most, by operation. An entry is stored as durably as a line of
the log, so it is held to the same."""


@dataclass(frozen=True)
class Row:
    """One operation of one run."""

    spread: Spread
    level: tuple[float, float, float] | None
    """None: there is none."""

    @property
    def met(self) -> bool | None:
        """Whether all three are kept."""
        measured = (self.spread.p50, self.spread.p95, self.spread.p99)
        return None if self.level is None else all(ms <= most for ms, most in zip(measured, self.level, strict=True))

    def as_line(self) -> str:
        """Return it for people."""
        cells = zip((self.spread.p50, self.spread.p95, self.spread.p99), self.level or (None,) * 3, strict=True)
        shown = "".join(f"{f'{ms:,.1f}' + (f' / {most:,.0f}' if most else ''):>19}" for ms, most in cells)
        verdict = {None: "", True: "  met", False: "  MISSED"}[self.met]
        return f"  {self.spread.what:20}{self.spread.times:>9,}{shown}{verdict}"

    def as_dict(self) -> dict[str, object]:
        """Return it for programs."""
        return {**asdict(self.spread), "level": self.level, "met": self.met}


@dataclass(frozen=True)
class Report:
    """What one run came to."""

    title: str
    rows: Sequence[Row]
    lines: Sequence[str]
    """What else there is to say."""
    failed: bool
    """Whether there were errors that nothing explains, or something was lost."""

    def as_text(self) -> str:
        """Return it for people."""
        head = f"  {'ms, measured / at most':20}{'times':>9}{'p50':>19}{'p95':>19}{'p99':>19}"
        return "\n".join(
            [self.title, head, *(row.as_line() for row in self.rows), *(f"  {line}" for line in self.lines)]
        )

    def as_dict(self) -> dict[str, object]:
        """Return it for programs."""
        rows = [row.as_dict() for row in self.rows]
        return {"title": self.title, "operations": rows, "more": list(self.lines), "failed": self.failed}


def rows_of(tally: Tally, title: str) -> list[Row]:
    """Return a row for each operation."""
    return [
        Row(Spread.of(title, operation, taken), LEVELS.get(operation))
        for operation, taken in tally.milliseconds.items()
    ]


def told(tally: Tally, seconds: float) -> list[str]:
    """Return lines on how much was done and what failed."""
    errors = [f"{what}: {times:,}" for what, times in tally.errors.most_common()] or ["none"]
    return [
        f"{tally.messages:,} messages answered, {tally.messages / seconds:,.1f} a second; errors: {'; '.join(errors)}",
        f"the people's process: {tally.cpu_seconds:,.1f} s of CPU, {100 * tally.cpu_seconds / seconds:.0f} % of a core",
    ]
