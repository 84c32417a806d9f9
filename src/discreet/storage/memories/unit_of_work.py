"""Memories saved in one transaction with what else belongs to the same step: a mark that it was done, a row that is used up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from discreet.state.records import MemoryRecord
from discreet.storage.database.users.locks import Locked
from discreet.storage.database.users.users import Cursor
from discreet.storage.memories.dedup_candidates import Candidates
from discreet.storage.memories.rows import Vectors
from discreet.storage.memories.saving import SaveRules, Written, write_records


@dataclass(frozen=True)
class Prepared:
    """Records as they are to be written: nothing slow is left for the transaction."""

    records: Sequence[MemoryRecord]
    """Redacted."""
    vectors: Vectors
    """Of their texts."""

    def only(self, positions: Sequence[int]) -> Prepared:
        """Return those at `positions`."""
        return Prepared([self.records[n] for n in positions], self.vectors[list(positions)])


class UnitOfWork:
    """One user's memories, locked until the transaction ends. Leaving it by an exception undoes all of it."""

    def __init__(self, locked: Locked, user_key: UUID, rules: SaveRules) -> None:
        self._locked = locked
        self._user_key = user_key
        self._rules = rules
        self.written: list[Written] = []
        """What was saved so far."""
        self.saved: list[MemoryRecord] = []
        """What it was made of."""

    @property
    def cursor(self) -> Cursor:
        """In the transaction, binary: what is written with it takes effect together with the memories, or not at all."""
        return self._locked.cursor

    async def save(self, prepared: Prepared, *, dedup: bool = True, candidates: Candidates | None = None) -> Written:
        """Save once in a unit: how many memories the user has is counted when it begins.

        `candidates` for these records have been asked in the unit already.

        Raises:
            EntryExistsError: Without `dedup` a record would take another's place.
        """
        assert not self.written, "a unit saves once"
        written = await write_records(
            self._locked,
            self._user_key,
            prepared.records,
            prepared.vectors,
            self._rules,
            dedup=dedup,
            candidates=candidates,
        )
        self.written.append(written)
        self.saved += prepared.records
        return written

    @property
    def counts(self) -> dict[str, int]:
        """How many memories were saved, took the place of others, and had others go; empty if none was saved."""
        if not self.saved:
            return {}
        superseded, evicted = (sum(getattr(each, name) for each in self.written) for name in ("superseded", "evicted"))
        counts = {"memories": len(self.saved), "superseded": superseded, "evicted": evicted}
        return {name: count for name, count in counts.items() if count}
