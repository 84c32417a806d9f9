"""Delete memories of one user inside a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncCursor

from discreet.state.records import MemoryFilters
from discreet.storage.memories.entry_counts import count_entries
from discreet.storage.memories.rows import places_of, tokens_of
from discreet.storage.memories.saving import SaveRules
from discreet.storage.memories.search import conditions_of
from discreet.storage.memories.token_counts import count_tokens
from discreet.storage.memories.turn_context import refresh_words

_DELETE: LiteralString = """
DELETE FROM discreet.memory m
WHERE m.user_key = %(user_key)s
  {conditions}
RETURNING m.entry_id, m.thread_id, m.position, m.lexical
"""


async def delete_one(cursor: AsyncCursor[dict[str, Any]], user_key: UUID, entry_id: UUID, rules: SaveRules) -> bool:
    """Delete one memory; False if there is none of that id. The user must be locked."""
    return await delete_entries(cursor, user_key, [entry_id], rules) == 1


async def delete_entries(
    cursor: AsyncCursor[dict[str, Any]], user_key: UUID, entry_ids: Sequence[UUID], rules: SaveRules
) -> int:
    """Delete memories by their ids; return how many. The user must be locked."""
    parameters = {"user_key": user_key, "entry_ids": list(entry_ids)}
    return await _delete(cursor, "AND m.entry_id = ANY (%(entry_ids)s)", parameters, rules)


async def delete_where(
    cursor: AsyncCursor[dict[str, Any]], user_key: UUID, filters: MemoryFilters, rules: SaveRules
) -> int:
    """Delete what `filters` select, superseded or not; return how many. The user must be locked."""
    conditions, values = conditions_of(filters, held=False)
    return await _delete(cursor, conditions, {"user_key": user_key, **values}, rules)


async def _delete(
    cursor: AsyncCursor[dict[str, Any]], conditions: LiteralString, parameters: dict[str, Any], rules: SaveRules
) -> int:
    user_key = parameters["user_key"]
    await cursor.execute(_DELETE.format(conditions=conditions), parameters)
    gone = await cursor.fetchall()
    if places := places_of(gone):  # their words must not live on in their neighbours
        await refresh_words(cursor, user_key, places, rules.sealer, rules.keys.token_digest)
    await count_tokens(cursor, user_key, gone=map(tokens_of, gone))
    await count_entries(cursor, user_key, rules.keys, gone=[row["entry_id"] for row in gone])
    return len(gone)
