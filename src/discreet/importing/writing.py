"""Write the rows of one user in one transaction: those that are not there, and none that is."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, LiteralString, cast
from uuid import UUID

from langgraph.store.base import InvalidNamespaceError, PutOp

from discreet.driver_errors import storage_errors
from discreet.errors import DiscreetError
from discreet.importing.room import Room, room_of
from discreet.importing.source import StoreItem
from discreet.importing.tables import Table, found_keys, insert, table_of, write_uses
from discreet.importing.threads import ThreadWriter
from discreet.ports import TextRedactor
from discreet.rights.exporting.format import MemoryRow
from discreet.state.records import MemoryRecord
from discreet.storage.database.keys import digest
from discreet.storage.memories.memories import PostgresMemories
from discreet.storage.memories.unit_of_work import Prepared, UnitOfWork
from discreet.storage.wiring import Storage

_FOUND: LiteralString = """
SELECT entry_id FROM discreet.memory WHERE user_key = %(user_key)s AND entry_id = ANY (%(entry_ids)s)
"""

_FOUND_PLACES: LiteralString = """
SELECT thread_key, position FROM discreet.memory
WHERE user_key = %(user_key)s AND thread_key = ANY (%(thread_keys)s) AND position = ANY (%(positions)s)
  AND thread_key IS NOT NULL AND position IS NOT NULL AND type = 'turn'
"""


@dataclass(frozen=True)
class Written:
    """What became of the rows of one user."""

    new: list[Any] = field(default_factory=list)
    there: list[Any] = field(default_factory=list)
    over: list[Any] = field(default_factory=list)
    """Memories of a user who has as many as one may have. Nothing goes for them: the same import would bring it back."""


class Writer:
    """Writes to one storage."""

    def __init__(self, storage: Storage, *, redactor: TextRedactor) -> None:
        """Use `storage`, whose owner closes it."""
        self._storage = storage
        self._memories = cast("PostgresMemories", storage.memories)
        self._redactor = redactor
        self.threads = ThreadWriter(storage, redactor=redactor)

    async def there(self, user_key: UUID, records: Sequence[Any]) -> list[bool]:
        """Return of each record whether it is there, or another of these before it is the same.

        Raises:
            StorageError: The database failed.
        """
        with storage_errors():
            async with self._storage.pool.connection() as conn, conn.cursor(binary=True) as cursor:
                return await _there(cursor, user_key, records)

    async def embedded(self, records: Sequence[MemoryRecord]) -> Prepared:
        """Return memories as `write` takes them, for a batch of any users: embedded together.

        Raises:
            ProviderError: The embedding model failed.
        """
        return await self._memories.prepare(records)

    async def write(self, user_key: UUID, records: Sequence[Any], memories: Prepared | None) -> Written:
        """Write what is not there of `records`, all of it or nothing; `memories` has those that are memories.

        Raises:
            UserErasedError: The user was erased since the work began; nothing was stored.
            StorageError: Nothing was stored.
        """
        plain: defaultdict[int, list[tuple[Any, Any]]] = defaultdict(list)
        tables: dict[int, Table] = {}
        for record in records:
            if (table := table_of(record)) is not None:
                tables[id(table)] = table
                redacted = await asyncio.to_thread(table.redacted, record, self._redactor)
                plain[id(table)].append((record, redacted))
        async with self._memories.unit_of_work(user_key) as unit:
            there = await _there(unit.cursor, user_key, records)
            ready = {record.entry_id for record in memories.records} if memories is not None else set()
            there = [
                known or (isinstance(record, MemoryRecord) and record.entry_id not in ready)  # it went a moment ago
                for record, known in zip(records, there, strict=True)
            ]
            new = [record for record, known in zip(records, there, strict=True) if not known]
            room = await self._room(unit.cursor, user_key) if memories is not None else None
            over = [record for record in new if room is not None and not room.takes(record)]
            left_out = {id(record) for record in over}
            is_new = {id(record) for record in new} - left_out
            await _save(unit, records, memories, is_new)
            for name, table in tables.items():
                rows = [redacted for record, redacted in plain[name] if id(record) in is_new]
                await insert(unit.cursor, table, user_key, rows, self._storage.sealer)
                if rows and table.kind == "log_turn":
                    await self._storage.audit.record_in(
                        unit.cursor, "log.write", user_key=user_key, data="log", counts={"turns": len(rows)}
                    )
            await write_uses(unit.cursor, user_key, [record for record in records if isinstance(record, MemoryRow)])
        kept = [(record, known) for record, known in zip(records, there, strict=True) if id(record) not in left_out]
        return Written(*_sorted([record for record, _ in kept], [known for _, known in kept]), over)

    async def room(self, user_key: UUID) -> Room:
        """Return what room a user has at this moment.

        Raises:
            StorageError: The database failed.
        """
        with storage_errors():
            async with self._storage.pool.connection() as conn, conn.cursor(binary=True) as cursor:
                return await self._room(cursor, user_key)

    async def _room(self, cursor: Any, user_key: UUID) -> Room:
        return await room_of(cursor, user_key, limit=self._storage.memory_settings.live.max_memories_per_user)

    async def put(self, items: Sequence[StoreItem], *, dry_run: bool = False) -> tuple[Written, dict[int, str]]:
        """Put items of a store there that are not, with their times; return also why each that can't be isn't, by its position.

        Raises:
            UserErasedError: Whose they are was erased since the work began; nothing was stored.
            StorageError: Nothing was stored.
        """
        puts = [
            (PutOp(item.namespace, item.key, item.value, ttl=item.ttl_minutes), item.created_at, item.updated_at)
            for item in items
        ]
        answers = await self._storage.store.take_over(puts, dry_run=dry_run)
        bad = {n: _reason(answer) for n, answer in enumerate(answers) if isinstance(answer, Exception)}
        new = [item for item, answer in zip(items, answers, strict=True) if answer is True]
        there = [item for item, answer in zip(items, answers, strict=True) if answer is False]
        return Written(new, there), bad


def _reason(error: Exception) -> str:
    """Return why an item can't be put: what our own errors say, which have no text of it."""
    is_ours = isinstance(error, (DiscreetError, InvalidNamespaceError))
    return str(error) if is_ours else f"is no item of a store ({type(error).__name__})"


async def _save(unit: UnitOfWork, records: Sequence[Any], memories: Prepared | None, is_new: set[int]) -> None:
    """Save the new ones of `memories`."""
    if memories is None:
        return
    entry_ids = {record.entry_id for record in records if isinstance(record, MemoryRecord) and id(record) in is_new}
    positions = [n for n, record in enumerate(memories.records) if record.entry_id in entry_ids]
    if positions:
        await unit.save(memories.only(positions), dedup=False)


async def _there(cursor: Any, user_key: UUID, records: Sequence[Any]) -> list[bool]:
    """Return of each record whether it is there, or is the same as one before it."""
    known: set[Any] = set()
    memories = [record for record in records if isinstance(record, MemoryRecord)]
    if memories:
        asked: dict[str, Any] = {"user_key": user_key, "entry_ids": [record.entry_id for record in memories]}
        rows = await (await cursor.execute(_FOUND, asked)).fetchall()
        known |= {("memory", row["entry_id"]) for row in rows}
    places = [record.place for record in memories if record.type == "turn" and record.place is not None]
    if places:
        asked = {
            "user_key": user_key,
            "thread_keys": [digest(thread) for thread, _ in places],
            "positions": [position for _, position in places],
        }
        rows = await (await cursor.execute(_FOUND_PLACES, asked)).fetchall()
        known |= {("place", row["thread_key"], row["position"]) for row in rows}
    by_table: defaultdict[int, list[Any]] = defaultdict(list)
    for record in records:
        if (table := table_of(record)) is not None:
            by_table[id(table)].append(record)
    for group in by_table.values():
        table = table_of(group[0])
        assert table is not None  # as they were sorted
        known |= {(table.kind, *key) for key in await found_keys(cursor, table, user_key, group)}
    told = []
    for record in records:
        keys = keys_of(record)
        told.append(bool(keys & known))
        known |= keys
    return told


def keys_of(record: Any) -> set[Any]:
    """Return what a record is known by. How a memory was used is known by nothing: it is told anew."""
    if isinstance(record, MemoryRecord):
        keys: set[Any] = {("memory", record.entry_id)}
        if record.type == "turn" and record.place is not None:
            keys.add(("place", digest(record.place[0]), record.place[1]))
        return keys
    if isinstance(record, StoreItem):
        return {("store_item", record.namespace, record.key)}
    table = table_of(record)
    return set() if table is None else {(table.kind, *table.key(record))}


def _sorted(records: Sequence[Any], there: Sequence[bool]) -> tuple[list[Any], list[Any]]:
    counted = [
        (record, known) for record, known in zip(records, there, strict=True) if not isinstance(record, MemoryRow)
    ]
    return [record for record, known in counted if not known], [record for record, known in counted if known]
