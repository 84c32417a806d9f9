"""The people in a database, for administrators: found by their keys, since nothing there says what their tokens name them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from discreet.driver_errors import storage_errors
from discreet.ports import AuditLog, Memories
from discreet.retrieval.forgetting import superseded_by
from discreet.state.records import MemoryRecord, PageMark
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.database.statements import fetch
from discreet.storage.database.users.locks import UserLocks
from discreet.storage.memories.browsing import build_begun, build_superseded
from discreet.storage.memories.memories import PostgresMemories
from discreet.storage.memories.rows import readable
from discreet.storage.memories.search import Search
from discreet.storage.people.conflicts import Conflict, ConflictMark, Keep, read_conflicts, settle
from discreet.storage.people.listing import Person, build_active, build_quiet, people_of
from discreet.storage.people.timeline import KINDS, Kind, TimelineEntry, TimelineMark, read_timeline


@dataclass(frozen=True, kw_only=True)
class Chain:
    """What came before and after a memory."""

    former: Sequence[MemoryRecord]
    later: Sequence[MemoryRecord]


class People:
    """Reads what is kept of anybody, and settles what contradicts. Each reading of a person's data is in the audit trail.

    Raises, from every method:
        StorageError: The database failed, or the audit trail can't be written.
    """

    def __init__(
        self, pool: Pool, *, memories: PostgresMemories, locks: UserLocks, sealer: FieldSealer, audit: AuditLog
    ) -> None:
        """Use `pool`, of a role that sees all users, whose owner closes it."""
        self._pool = pool
        self._locks = locks
        self._sealer = sealer
        self._audit = audit
        self.memories: Memories = memories.by_key()
        """Long-term memory, whose `user_id` is the text of a user_key."""

    async def active(self, *, limit: int, before: PageMark | None = None) -> list[tuple[PageMark, Person]]:
        """Return at most `limit` people who talked, the last first, each with the mark that a page after them begins at."""
        statement, given = build_active(limit=limit, before=before)
        rows = await fetch(self._pool, statement, given)
        marks = {row["user_key"]: (row["ended_at"], row["user_key"]) for row in rows}
        return [(marks[each.user_key], each) for each in await people_of(self._pool, list(marks))]

    async def quiet(self, *, limit: int, after: UUID | None = None) -> list[Person]:
        """Return at most `limit` people who have memories and no turn in the log, in the order of their keys."""
        statement, given = build_quiet(limit=limit, after=after)
        return await people_of(self._pool, [row["user_key"] for row in await fetch(self._pool, statement, given)])

    async def get(self, user_key: UUID) -> Person | None:
        """Return one of them; None if nothing was ever kept of anybody with that key."""
        return next(iter(await people_of(self._pool, [user_key])), None)

    async def timeline(
        self, user_key: UUID, *, limit: int, kinds: Sequence[Kind] = KINDS, before: TimelineMark | None = None
    ) -> list[TimelineEntry]:
        """Return at most `limit` things that were kept of a person, newest first, and before a mark."""
        found = await read_timeline(self._pool, self._sealer, user_key, kinds=kinds, limit=limit, before=before)
        await self._tell_reading(user_key, "user.read", Counter(entry.kind for entry in found))
        return found

    async def chain(self, user_key: UUID, record: MemoryRecord) -> Chain:
        """Return the memories whose place `record` took, and those that took its place."""
        began = [moment for moment in (record.valid_from, record.created_at) if moment is not None]
        ended = await self._read(user_key, build_superseded(user_key, began))
        later = [] if record.valid_to is None else await self._read(user_key, build_begun(user_key, record.valid_to))
        return Chain(
            former=superseded_by([record], ended), later=[each for each in later if superseded_by([each], [record])]
        )

    async def conflicts(
        self, *, user_key: UUID | None = None, limit: int, after: ConflictMark | None = None
    ) -> list[Conflict]:
        """Return at most `limit` pairs of memories that may not both hold, of one person or of all, after a mark."""
        found = await read_conflicts(self._pool, self._sealer, user_key=user_key, limit=limit, after=after)
        for whose, pairs in Counter(each.user_key for each in found).items():
            await self._tell_reading(whose, "memory.read", {"memories": 2 * pairs})
        return found

    async def settle(self, user_key: UUID, older: UUID, newer: UUID, keep: Keep) -> bool:
        """Decide on a pair: one ends, or both hold. False if there is no such pair any more."""
        with storage_errors():
            async with self._locks.locked([user_key], adds=False) as locked:
                is_settled = await settle(locked.cursor, user_key, (older, newer), keep, self._sealer)
                if is_settled:
                    counts = {"superseded": 0 if keep == "both" else 1}
                    await self._audit.record_in(
                        locked.cursor, "memory.settle", user_key=user_key, data="memory", counts=counts
                    )
        return is_settled

    async def _read(self, user_key: UUID, query: Search) -> list[MemoryRecord]:
        records = readable(await fetch(self._pool, query.statement, query.parameters), self._sealer)
        await self._tell_reading(user_key, "memory.read", {"memories": len(records)})
        return records

    async def _tell_reading(self, user_key: UUID, action: str, counts: Mapping[str, int]) -> None:
        if counts:
            data = action.partition(".")[0]
            await self._audit.record_reading(action, user_key=user_key, data=data, counts=counts)
