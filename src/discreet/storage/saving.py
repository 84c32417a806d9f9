"""Write one person's records inside a transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncCursor

from discreet.retrieval.lexical import REACH, Impacts, impacts, mark_impacts, token_ids
from discreet.state.records import MemoryRecord
from discreet.storage.keys import APP, PERSON, digest, key_for, same_text_key
from discreet.storage.memory_rows import RECORD_COLUMNS, UPSERT, Keys, Place, place_of, record_from, row_of
from discreet.storage.neighbours import Said, around, by_place, next_to, refresh_words, said_at
from discreet.storage.settling import settle

_LOCK: LiteralString = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 1))"
"""One writer a person. A statement of its own before all others: the next statement's snapshot then has what the
previous holder committed. Without it 16 writers of 5 equal facts made 40 rows."""

_MET: LiteralString = f"""
SELECT {RECORD_COLUMNS}
FROM discreet.memory m
JOIN discreet.app a USING (app_key)
WHERE m.user_key = %(user_key)s AND m.entry_id IN (
    SELECT unnest(%(entry_ids)s::uuid[])
    UNION ALL
    SELECT entry_id FROM discreet.memory
    WHERE user_key = %(user_key)s AND text_key = ANY (%(text_keys)s::uuid[]) AND valid_to IS NULL AND type <> 'turn'
    UNION ALL
    SELECT t.entry_id
    FROM unnest(%(thread_keys)s::uuid[], %(positions)s::bigint[]) AS p (thread_key, position)
    JOIN discreet.memory t USING (thread_key, position)
    WHERE t.user_key = %(user_key)s AND t.thread_key IS NOT NULL AND t.position IS NOT NULL AND t.type = 'turn'
)
"""  # noqa: S608 - RECORD_COLUMNS is a constant of ours
"""Stored records that new ones may meet: same id, same text, or the turn at the same place."""


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
    *,
    space_key: int,
) -> Written:
    """Store redacted `records` with their `vectors`. The person must be locked."""
    user_key = await key_for(cursor, PERSON, user_id)
    met = await _records_met(cursor, user_key, records)
    stored = settle(records, met)
    final = {record.entry_id: (record, vector) for record, vector in zip(stored, vectors, strict=True)}
    tokens = {entry_id: token_ids(record.text) for entry_id, (record, _) in final.items()}
    said = await _said_around(cursor, user_key, [record for record, _ in final.values()], tokens)
    app_names = sorted({record.app_name for record, _ in final.values()})
    app_keys = {name: await key_for(cursor, APP, name) for name in app_names}

    rows, words = [], {}
    for entry_id, (record, vector) in final.items():
        own, context = impacts(
            tokens[entry_id], next_to(place_of(record), said), mark_impacts(record.text, record.created_at)
        )
        keys = Keys(user_key=user_key, app_key=app_keys[record.app_name], space_key=space_key)
        rows.append(row_of(record, keys, vector=vector, own=own, context=context))
        words[entry_id] = own
    await cursor.executemany(UPSERT, rows)

    replaced = [record for record in met if record.entry_id in final]
    changed = _places([*replaced, *(record for record, _ in final.values())])
    await refresh_words(cursor, user_key, changed, but=final.keys())
    for record in replaced:
        del words[record.entry_id]
    return Written(stored, list(words.values()))


async def _said_around(
    cursor: AsyncCursor[dict[str, Any]],
    user_key: int,
    records: Sequence[MemoryRecord],
    tokens: Mapping[UUID, list[int]],
) -> dict[Place, list[list[int]]]:
    """Return what is said at and next to the places of `records`, which replace stored ones of their ids."""
    said = {each.entry_id: each for each in await said_at(cursor, user_key, around(_places(records), REACH))}
    for record in records:
        said.pop(record.entry_id, None)
        if (place := place_of(record)) is not None:
            said[record.entry_id] = Said(record.entry_id, place, tokens[record.entry_id], marks={})
    return by_place(said.values())


def _places(records: Iterable[MemoryRecord]) -> set[Place]:
    return {place for record in records if (place := place_of(record)) is not None}


async def _records_met(
    cursor: AsyncCursor[dict[str, Any]], user_key: int, records: Sequence[MemoryRecord]
) -> list[MemoryRecord]:
    turns = [place for record in records if record.type == "turn" and (place := place_of(record)) is not None]
    texts: list[UUID] = [same_text_key(record.text) for record in records if record.type != "turn"]
    await cursor.execute(
        _MET,
        {
            "user_key": user_key,
            "entry_ids": [record.entry_id for record in records],
            "text_keys": texts,
            "thread_keys": [digest(thread) for thread, _ in turns],
            "positions": [position for _, position in turns],
        },
    )
    return [record_from(row) for row in await cursor.fetchall()]
