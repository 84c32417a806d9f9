"""Delete memories of one person inside a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncCursor

from discreet.state.records import MemoryFilters
from discreet.storage.neighbours import refresh_words
from discreet.storage.sealing import FieldSealer
from discreet.storage.search_sql import conditions_of

_DELETE: LiteralString = """
WITH gone AS (
    DELETE FROM discreet.memory m
    WHERE m.user_key = (SELECT user_key FROM discreet.person WHERE user_id = %(user_id)s)
      {conditions}
    RETURNING m.user_key, m.thread_id, m.position
),
counted AS (
    UPDATE discreet.person p SET memories = p.memories - (SELECT count(*) FROM gone) WHERE p.user_id = %(user_id)s
)
SELECT user_key, thread_id, position FROM gone
"""


async def delete_one(cursor: AsyncCursor[dict[str, Any]], user_id: str, entry_id: UUID, sealer: FieldSealer) -> bool:
    """Delete one memory; False if there is none of that id. The person must be locked."""
    return await delete_entries(cursor, user_id, [entry_id], sealer) == 1


async def delete_entries(
    cursor: AsyncCursor[dict[str, Any]], user_id: str, entry_ids: Sequence[UUID], sealer: FieldSealer
) -> int:
    """Delete memories by their ids; return how many. The person must be locked."""
    parameters = {"user_id": user_id, "entry_ids": list(entry_ids)}
    return await _delete(cursor, "AND m.entry_id = ANY (%(entry_ids)s)", parameters, sealer)


async def delete_where(
    cursor: AsyncCursor[dict[str, Any]], user_id: str, filters: MemoryFilters, sealer: FieldSealer
) -> int:
    """Delete what `filters` select, superseded or not; return how many. The person must be locked."""
    conditions, values = conditions_of(filters, held=False)
    return await _delete(cursor, conditions, {"user_id": user_id, **values}, sealer)


async def _delete(
    cursor: AsyncCursor[dict[str, Any]], conditions: LiteralString, parameters: dict[str, Any], sealer: FieldSealer
) -> int:
    await cursor.execute(_DELETE.format(conditions=conditions), parameters)
    gone = await cursor.fetchall()
    places = {(row["thread_id"], row["position"]) for row in gone if None not in (row["thread_id"], row["position"])}
    if places:  # their words must not live on in their neighbours
        await refresh_words(cursor, gone[0]["user_key"], places, sealer)
    return len(gone)
