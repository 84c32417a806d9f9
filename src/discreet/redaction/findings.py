"""What was found where, and how overlapping findings become one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One sensitive value: its type and where it stands, never the value itself."""

    type: str
    """Name of the placeholder, for example `EMAIL`."""
    start: int
    """Index of its first character."""
    end: int
    """Index after its last character."""


def merge(findings: Iterable[Finding]) -> list[Finding]:
    """Return `findings` in order of their start, those that overlap united into one.

    The union is kept, since the part that only one recogniser found would leak. A secret gives the union its type,
    whatever else is there; otherwise the longest does, and of two equally long ones the first.
    """
    merged: list[Finding] = []
    strongest = (False, 0)
    for finding in sorted(findings, key=lambda each: (each.start, -each.end, each.type)):
        strength = (finding.type == "SECRET", finding.end - finding.start)
        if not merged or finding.start >= merged[-1].end:
            merged.append(finding)
            strongest = strength
            continue
        union = merged[-1]
        kind = finding.type if strength > strongest else union.type
        merged[-1] = Finding(kind, union.start, max(union.end, finding.end))
        strongest = max(strongest, strength)
    return merged
