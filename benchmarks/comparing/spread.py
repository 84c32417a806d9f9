"""How long something took each time, and how that spreads, as a table or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

SHARES = (0.50, 0.95, 0.99)


@dataclass(frozen=True)
class Spread:
    """One line: what was done how often, and the milliseconds within which each share of it was."""

    group: str
    what: str
    times: int
    p50: float
    p95: float
    p99: float

    @classmethod
    def of(cls, group: str, what: str, milliseconds: Iterable[float]) -> Self:
        """Return the spread of `milliseconds`; not-a-number if there are none."""
        values = sorted(milliseconds)
        return cls(group, what, len(values), *(percentile(values, share) for share in SHARES))


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest of the sorted `values` that `share` of them does not exceed."""
    return values[max(0, -int(-share * len(values) // 1) - 1)] if values else float("nan")


def as_json(spreads: Sequence[Spread], where: str, **more: Any) -> str:
    """Return the spreads for programs, and `more` beside them."""
    return json.dumps({"machine": where, "spreads": [asdict(spread) for spread in spreads], **more}, indent=2)


def as_table(spreads: Sequence[Spread], where: str, more: Mapping[str, Sequence[str]] | None = None) -> str:
    """Return the spreads for people, then `more`: lines under their titles."""
    lines = [where, f"{'ms':48}{'times':>10}{'p50':>12}{'p95':>12}{'p99':>12}"]
    group = ""
    for each in spreads:
        if each.group != group:
            group = each.group
            lines.append(group)
        lines.append(f"  {each.what:46}{each.times:>10,}{each.p50:>12,.2f}{each.p95:>12,.2f}{each.p99:>12,.2f}")
    for title, under in (more or {}).items():
        lines += [title, *(f"  {line}" for line in under)]
    return "\n".join(lines)
