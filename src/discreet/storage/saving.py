"""Write one person's records inside a transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncCursor

from discreet.errors import EntryExistsError
from discreet.ports import LiveSettings
from discreet.retrieval.dedup import DedupThresholds
from discreet.retrieval.dedup_resolution import Nearness, Settled, is_compared, settle
from discreet.retrieval.lexical import REACH, Impacts, impacts, mark_impacts, token_ids
from discreet.state.records import MemoryRecord, Place
from discreet.storage.eviction import UNCOUNTED, evict
from discreet.storage.keys import Person, app_keys_for, digest, person_for
from discreet.storage.memory_rows import (
    RECORD_COLUMNS,
    Keys,
    private_columns,
    record_from,
    row_of,
)
from discreet.storage.neighbours import Said, around, by_place, next_to, refresh_words, said_at
from discreet.storage.row_writing import write_rows
from discreet.storage.sealing import FieldSealer
from discreet.storage.similar import Near, near_each_other, stored_near
from discreet.storage.spaces import EmbeddingSpace

_LOCK: LiteralString = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 1))"
"""One writer a person. A statement of its own before all others: the next statement's snapshot then has what the
previous holder committed. Without it 16 writers of 5 equal facts made 40 rows."""

_MET: LiteralString = f"""
SELECT {RECORD_COLUMNS}
FROM (
    SELECT f.*
    FROM unnest(%(entry_ids)s::uuid[]) AS i (entry_id)
    CROSS JOIN LATERAL (
        SELECT e.* FROM discreet.memory e WHERE e.user_key = %(user_key)s AND e.entry_id = i.entry_id LIMIT 1
    ) f
    UNION ALL
    SELECT f.*
    FROM unnest(%(thread_keys)s::uuid[], %(positions)s::bigint[]) AS p (thread_key, position)
    CROSS JOIN LATERAL (
        SELECT e.* FROM discreet.memory e
        WHERE e.user_key = %(user_key)s AND e.thread_key = p.thread_key AND e.position = p.position
          AND e.thread_key IS NOT NULL AND e.position IS NOT NULL AND e.type = 'turn'
        LIMIT 1
    ) f
) m
JOIN discreet.app a USING (app_key)
"""  # noqa: S608 - RECORD_COLUMNS is a constant of ours
"""Stored records that new ones replace: same id, or the turn at the same place. LATERAL with LIMIT leaves the planner no
choice but an index lookup each: a plan made while the table was empty read all rows of the person, 72 ms instead of 0.4."""

_CHANGE: LiteralString = """
UPDATE discreet.memory
SET created_at = %(created_at)s, valid_from = %(valid_from)s, valid_to = %(valid_to)s, importance = %(importance)s,
    confidence = %(confidence)s, tags = %(tags)s, conflict_flags = %(conflict_flags)s, feedback = %(feedback)s,
    sealed_feedback = %(sealed_feedback)s
WHERE user_key = %(user_key)s AND entry_id = %(entry_id)s
"""
_CHANGED_COLUMNS = (
    "entry_id",
    "created_at",
    "valid_from",
    "valid_to",
    "importance",
    "confidence",
    "tags",
    "conflict_flags",
)

_SETTLE_CONFLICTS: LiteralString = """
DELETE FROM discreet.memory_conflict WHERE user_key = %(user_key)s AND older = ANY (%(said_again)s)
"""

_ADD_CONFLICTS: LiteralString = """
INSERT INTO discreet.memory_conflict (user_key, older, newer)
SELECT %(user_key)s, older, newer FROM unnest(%(older)s::uuid[], %(newer)s::uuid[]) AS c (older, newer)
ON CONFLICT DO NOTHING
"""

_COUNT: LiteralString = """
UPDATE discreet.person
SET memories = memories + %(added)s,
    space_key = CASE WHEN memories = 0 OR space_key = %(space_key)s THEN %(space_key)s END
WHERE user_key = %(user_key)s
"""


@dataclass(frozen=True, kw_only=True)
class SaveRules:
    """What holds for every save of a storage."""

    space: EmbeddingSpace
    """That the vectors belong to."""
    memory_settings: LiveSettings
    """From which similarity on a fact is known already, or a new state of a known one, and how many memories a person may
    have. Each save goes by what holds when it begins."""
    sealer: FieldSealer
    """Of texts and feedback."""


@dataclass(frozen=True)
class Written:
    """What one save did."""

    stored: list[MemoryRecord]
    """A result for each record given, in their order."""
    new: list[Impacts]
    """Own tokens of each row that was not there before."""


async def lock_person(cursor: AsyncCursor[dict[str, Any]], user_id: str) -> None:
    """Keep other writers of this person waiting until the transaction ends."""
    await cursor.execute(_LOCK, (user_id,))


async def write_records(
    cursor: AsyncCursor[dict[str, Any]],
    user_id: str,
    records: Sequence[MemoryRecord],
    vectors: Sequence[list[float]],
    rules: SaveRules,
    *,
    apart: bool = False,
) -> Written:
    """Store redacted `records` with their `vectors`, each as a record of its own with `apart`. The person must be locked.

    Raises:
        EntryExistsError: With `apart` a record would take another's place.
    """
    person = await person_for(cursor, user_id)
    return await _Save(cursor, person, rules, apart=apart).write(records, vectors)


class _Save:
    """One save of one person."""

    def __init__(self, cursor: AsyncCursor[dict[str, Any]], person: Person, rules: SaveRules, *, apart: bool) -> None:
        self._cursor = cursor
        self._user_key = person.user_key
        self._memories = person.memories
        self._rules = rules
        live = rules.memory_settings.live
        self._thresholds = DedupThresholds(same=live.memory_update_threshold, similar=live.memory_dedup_threshold)
        self._limit = live.max_memories_per_user
        self._apart = apart

    async def write(self, records: Sequence[MemoryRecord], vectors: Sequence[list[float]]) -> Written:
        app_keys = await app_keys_for(self._cursor, {record.app_name for record in records})
        nearness = await self._nearness(records, vectors, app_keys)
        met = {record.entry_id: record for record in await self._met(records, nearness)}
        if self._apart and (met or len({record.entry_id for record in records}) < len(records)):
            raise EntryExistsError
        settled = settle(records, met.values(), nearness=nearness, thresholds=self._thresholds)
        words = await self._write_whole(settled, vectors, app_keys, replaced=met.keys())
        await self._change(settled)
        replaced = [met[entry_id] for entry_id in settled.written if entry_id in met]
        written = [settled.records[entry_id] for entry_id in settled.written]
        changed = _places([*replaced, *written])
        await refresh_words(self._cursor, self._user_key, changed, self._rules.sealer, but=settled.written.keys())
        new = [own for entry_id, own in words.items() if entry_id not in met]
        await self._count(len(new) - await self._evict(written, memories=self._memories + len(new)))
        return Written([settled.records[entry_id] for entry_id in settled.results], new)

    async def _nearness(
        self, records: Sequence[MemoryRecord], vectors: Sequence[list[float]], app_keys: Mapping[str, int]
    ) -> Nearness:
        """Return how near the new facts are to stored ones and to each other."""
        if self._apart:
            return Nearness()
        space, least = self._rules.space, self._thresholds.least
        facts = {n: app_keys[record.app_name] for n, record in enumerate(records) if is_compared(record)}
        stored: Near = {}
        if self._memories:
            stored = await stored_near(self._cursor, facts, vectors, user_key=self._user_key, space=space, least=least)
        return Nearness(stored=stored, batch=near_each_other(list(facts), vectors, space, least=least))

    async def _met(self, records: Sequence[MemoryRecord], nearness: Nearness) -> list[MemoryRecord]:
        """Return the stored records that new ones replace or are near to."""
        if not self._memories:
            return []
        turns = [place for record in records if record.type == "turn" and (place := record.place) is not None]
        near = {entry_id for found in nearness.stored.values() for entry_id in found}
        await self._cursor.execute(
            _MET,
            {
                "user_key": self._user_key,
                "entry_ids": list(near | {record.entry_id for record in records}),
                "thread_keys": [digest(thread) for thread, _ in turns],
                "positions": [position for _, position in turns],
            },
        )
        return [record_from(row, self._rules.sealer) for row in await self._cursor.fetchall()]

    async def _write_whole(
        self,
        settled: Settled,
        vectors: Sequence[list[float]],
        app_keys: Mapping[str, int],
        *,
        replaced: Collection[UUID],
    ) -> dict[UUID, Impacts]:
        """Write the rows that are new or replaced; return the own words of each."""
        written = {entry_id: settled.records[entry_id] for entry_id in settled.written}
        tokens = {entry_id: token_ids(record.text) for entry_id, record in written.items()}
        said = await self._said_around(written.values(), tokens)
        rows, words = [], {}
        for entry_id, record in written.items():
            marks = mark_impacts(record.text, record.created_at)
            own, context = impacts(tokens[entry_id], next_to(record.place, said), marks)
            app_key = app_keys[record.app_name]
            keys = Keys(user_key=self._user_key, app_key=app_key, space_key=self._rules.space.key)
            vector = vectors[settled.written[entry_id]]
            rows.append(row_of(record, keys, vector=vector, own=own, context=context, sealer=self._rules.sealer))
            words[entry_id] = own
        await write_rows(self._cursor, rows, replaced=replaced)
        return words

    async def _said_around(
        self, records: Iterable[MemoryRecord], tokens: Mapping[UUID, list[int]]
    ) -> dict[Place, list[list[int]]]:
        """Return what is said at and next to the places of `records`, which replace stored ones of their ids."""
        records = list(records)
        places = around(_places(records), REACH)
        stored = await said_at(self._cursor, self._user_key, places, self._rules.sealer)
        said = {each.entry_id: each for each in stored}
        for record in records:
            said.pop(record.entry_id, None)
            if (place := record.place) is not None:
                said[record.entry_id] = Said(record.entry_id, place, tokens[record.entry_id], marks={})
        return by_place(said.values())

    async def _change(self, settled: Settled) -> None:
        """Write what is new of stored facts: said again, superseded, contradicted."""
        changes = []
        for entry_id in settled.changed:
            record = settled.records[entry_id]
            private = private_columns(record, self._user_key, self._rules.sealer)
            columns = {name: getattr(record, name) for name in _CHANGED_COLUMNS}
            changes.append({"user_key": self._user_key, **private, **columns})
        if changes:
            await self._cursor.executemany(_CHANGE, changes)
        if settled.said_again:
            parameters = {"user_key": self._user_key, "said_again": list(settled.said_again)}
            await self._cursor.execute(_SETTLE_CONFLICTS, parameters)
        if settled.conflicts:
            older, newer = zip(*sorted(settled.conflicts), strict=True)
            parameters = {"user_key": self._user_key, "older": list(older), "newer": list(newer)}
            await self._cursor.execute(_ADD_CONFLICTS, parameters)

    async def _evict(self, written: Sequence[MemoryRecord], *, memories: int) -> int:
        """Bring the person, who has `memories` of all types, within their limit; return how many went."""
        if memories <= self._limit or all(record.type in UNCOUNTED for record in written):
            return 0
        newest = [record.entry_id for record in written]
        gone = await evict(self._cursor, self._user_key, limit=self._limit, written=newest)
        places = {(thread, position) for thread, position in gone if thread is not None and position is not None}
        await refresh_words(self._cursor, self._user_key, places, self._rules.sealer)
        return len(gone)

    async def _count(self, added: int) -> None:
        """Keep the number of the person's memories, and the space that all of them are in."""
        counted = {"user_key": self._user_key, "space_key": self._rules.space.key, "added": added}
        await self._cursor.execute(_COUNT, counted)


def _places(records: Iterable[MemoryRecord]) -> set[Place]:
    return {place for record in records if (place := record.place) is not None}
