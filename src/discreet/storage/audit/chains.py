"""Walk along chains, entry by entry, and say what is not as it was written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, LiteralString
from uuid import UUID

from discreet.storage.audit.digests import BEFORE_FIRST, AuditKey, next_hash

Row = Mapping[str, Any]

ENTRY_COLUMNS: LiteralString = """
e.user_key, e.number, extract(epoch FROM e.at)::text AS at, e.actor_kind, e.actor, e.action, e.success, e.data,
e.counts::text AS counts, e.request_id, e.ip_address, e.user_agent, e.hash
"""
"""As digests are made of them. Times and numbers that a counterfeit has may be such that Python has no object for."""

HEAD_COLUMNS: LiteralString = """
c.last_number, c.last_hash, c.first_number, c.hash_before, c.beginning, extract(epoch FROM c.first_at)::text AS first_at
"""

Kind = Literal["entry", "missing", "beginning", "end", "head", "seal", "mark", "unsealed", "anchor"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something that is not as it was written, and where."""

    kind: Kind
    problem: str
    """In words."""
    user_key: UUID | None = None
    """In whose chain; None: in the seals."""
    number: int | None = None
    """At which entry of it; in the seals, at which seal."""


class ChainWalk:
    """Walks along one chain after the other. `step` takes their entries in order, each with the head of its chain."""

    def __init__(self, key: AuditKey) -> None:
        self._key = key
        self._last: Row | None = None
        self._next = 1
        self._before = BEFORE_FIRST
        self.chains = 0
        """Begun so far."""
        self.is_sound = True
        """Whether the entry last taken is as it was written."""

    def step(self, row: Row) -> Iterator[Finding]:
        """Take the next entry."""
        if self._last is None or self._last["user_key"] != row["user_key"]:
            yield from self.end()
            yield from self._begin(row)
        elif row["number"] != self._next and row["number"] == row["first_number"]:
            yield from self._begin(row, again=True)  # those before went while we came along
        self.is_sound = row["number"] == self._next
        if not self.is_sound:
            yield _found("missing", row, _gap(self._next, row["number"]))
        elif row["hash"] != next_hash(self._before, self._next, self._key.of_entry(row)):
            self.is_sound = False
            yield _found("entry", row, "The entry, or its hash, was changed, or it was put there.")
        self._last = row
        if row["number"] >= self._next:
            self._before, self._next = row["hash"] or b"", row["number"] + 1

    def end(self) -> Iterator[Finding]:
        """Come to the end of the chain that was walked along last."""
        row, self._last = self._last, None
        if row is None or row["last_number"] is None:
            return
        if row["number"] != row["last_number"]:
            problem = f"The last entry is {row['number']}; by the head of the chain it is {row['last_number']}."
            yield _found("end", row, problem)
        elif row["hash"] != row["last_hash"]:
            yield _found("end", row, "The head of the chain has another hash than the last entry.")

    def _begin(self, row: Row, *, again: bool = False) -> Iterator[Finding]:
        self._next, self._before = 1, BEFORE_FIRST
        self.chains += not again
        if row["last_number"] is None:
            yield _found("head", row, "The chain has lost its head.")
            return
        if begins_rightly(row, self._key):
            self._next, self._before = row["first_number"], row["hash_before"]
        else:
            yield _found("beginning", row, "The beginning of the chain is none that was recorded.")
        if row["first_at"] != row["at"]:
            yield _found("head", row, "The head of the chain has another time than its first entry.")


def begins_rightly(head: Row, key: AuditKey) -> bool:
    """Tell whether a chain, with user_key and the columns of its head, begins with its first entry, or where it was trimmed."""
    number, before, beginning = head["first_number"], head["hash_before"], head["beginning"]
    if beginning is None:
        return bool(number == 1 and before == BEFORE_FIRST)
    return bool(beginning == key.of_beginning(head["user_key"], number, before))


def _found(kind: Kind, row: Row, problem: str) -> Finding:
    return Finding(kind=kind, user_key=row["user_key"], number=row["number"], problem=problem)


def _gap(expected: int, number: int) -> str:
    if number < expected:
        return "The entry comes before the beginning of the chain."
    if number == expected + 1:
        return f"Entry {expected}, before this one, is missing."
    return f"Entries {expected} to {number - 1}, before this one, are missing."
