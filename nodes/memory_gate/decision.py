"""What the gate says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GateDecision:
    """Whether to search long-term memory, and which rule or kind of prototype said so."""

    retrieve: bool
    reason: str


UNSURE = GateDecision(retrieve=True, reason="unsure")
"""What nothing decides: memory that was not needed costs a search, memory that was missed costs the answer."""
