"""What was found where, and how overlapping findings become one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from discreet.redaction.normalized_text import Span


@dataclass(frozen=True, slots=True)
class Finding:
    """One sensitive value: its type and where it stands, never the value itself."""

    type: str
    """Name of the placeholder, for example `EMAIL`."""
    start: int
    """Index of its first character."""
    end: int
    """Index after its last character."""


TOLD = frozenset(("BANK_ACCOUNT", "MEDICAL_ID", "MEMBER_ID", "PLATE"))
"""Types of numbers that nothing but a word tells: a card is behind "card number" what else it might be there."""


def merge(findings: Iterable[Finding]) -> list[Finding]:
    """Return `findings` in order of their start, those that overlap united into one.

    The union is kept, since the part that only one recogniser found would leak. A secret gives the union its type,
    whatever else is there; otherwise the longest does, and of two equally long ones that which more than a word tells.
    """
    merged: list[Finding] = []
    strongest = (False, 0)
    for finding in sorted(findings, key=lambda each: (each.start, -each.end, each.type in TOLD, each.type)):
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


def united(spans: Iterable[Span]) -> list[Span]:
    """Return `spans` in order, those that overlap as one."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return merged


def apart_from(taken: Iterable[Span], spans: Iterable[Span]) -> Iterator[Span]:
    """Yield those of `spans` that overlap none of those `taken`."""
    others = united(taken)
    for start, end in spans:
        before = bisect_left(others, (end, 0)) - 1
        if before < 0 or others[before][1] <= start:
            yield start, end
