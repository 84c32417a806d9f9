"""What all benchmarks together have found, as one file: `benchmarks/results/results.json`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

MORE_IS_BETTER = frozenset({"a second", "found", "right"})
"""Units of which more is better; of all others, less."""

Interval = tuple[float, float]
"""95 %."""


@dataclass(frozen=True)
class Comparison:
    """One figure of ours, beside that of one peer if there is one."""

    group: str
    """Under which circumstances."""
    what: str
    unit: str
    ours: float
    peer: str | None = None
    theirs: float | None = None
    pairs: int = 1
    """Repetitions, each with both sides."""
    interval: Interval | None = None
    """Of ours / theirs."""
    ours_interval: Interval | None = None
    """Of the figure itself, if it is a share."""
    theirs_interval: Interval | None = None

    @property
    def ratio(self) -> float | None:
        """Ours / theirs, None without a peer or where theirs is nothing."""
        return self.ours / self.theirs if self.theirs else None


@dataclass(frozen=True)
class Run:
    """One benchmark that ran."""

    name: str
    command: str
    seconds: float
    machine: str = ""
    """With versions, as the benchmark tells it."""
    failure: str | None = None
    """Why there are no figures."""
    missed: bool = False
    """Whether a target of the benchmark was missed; its figures count all the same."""
    notes: list[str] = field(default_factory=list)
    figures: list[Comparison] = field(default_factory=list)


@dataclass(frozen=True)
class Results:
    """The runs, by name in the order in which they were declared."""

    runs: dict[str, Run] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the file; nothing if it is not there."""
        if not path.exists():
            return cls()
        runs = json.loads(path.read_text(encoding="utf-8"))["runs"]
        return cls({run["name"]: Run(**{**run, "figures": list(map(_comparison, run["figures"]))}) for run in runs})

    def write(self, path: Path) -> None:
        """Write the file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        runs = [asdict(run) for run in self.runs.values()]
        path.write_text(json.dumps({"runs": _rounded(runs)}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def with_run(self, run: Run, order: Sequence[str]) -> Results:
        """Return the results with `run` in place of the last one of its name."""
        runs = {**self.runs, run.name: run}
        return Results({name: runs[name] for name in order if name in runs})


def _comparison(data: dict[str, Any]) -> Comparison:
    intervals = {name: tuple(data[name]) for name in data if name.endswith("interval") and data[name] is not None}
    return Comparison(**{**data, **intervals})


def _rounded(value: Any) -> Any:
    """Return `value` with four significant digits in all floats: more are noise."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list | tuple) else value
