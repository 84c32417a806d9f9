"""Move one person's memories from the embedding spaces they are in to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString
from uuid import UUID

from discreet.storage.memory_rows import vector_columns
from discreet.storage.pool import Pool
from discreet.storage.saving import lock_person

_NEXT: LiteralString = """
SELECT r.*
FROM unnest(%(user_keys)s::bigint[]) WITH ORDINALITY AS p (user_key, turn)
CROSS JOIN LATERAL (
    SELECT m.user_key, m.entry_id, m.text, m.sealed_text
    FROM discreet.memory m
    WHERE m.user_key = p.user_key AND m.space_key <> %(space_key)s
      AND (p.turn > 1 OR m.entry_id >= %(first)s)
    ORDER BY m.entry_id
    LIMIT %(limit)s
) r
LIMIT %(limit)s
"""
"""A nested loop, so in the order of people without sorting, which would read every row of all of them. Another order
would cost a second look at them, and lose nothing."""

_MOVE: LiteralString = """
UPDATE discreet.memory
SET space_key = %(space_key)s, embedding = %(embedding)s, wide_embedding = %(wide_embedding)s,
    sketch = %(sketch)s
WHERE user_key = %(user_key)s AND entry_id = %(entry_id)s AND space_key <> %(space_key)s
  AND text IS NOT DISTINCT FROM %(text)s AND sealed_text IS NOT DISTINCT FROM %(sealed_text)s
"""
"""A row that was written anew since it was read keeps what it has; it is read again if that is of another space."""

_SETTLE: LiteralString = """
UPDATE discreet.person SET space_key = %(space_key)s
WHERE user_key = %(user_key)s
  AND NOT EXISTS (SELECT FROM discreet.memory WHERE user_key = %(user_key)s AND space_key <> %(space_key)s)
"""


async def rows_to_move(
    pool: Pool, user_keys: Sequence[int], *, first: UUID, space_key: int, limit: int
) -> list[dict[str, Any]]:
    """Return at most `limit` rows of other spaces with user_key, entry_id, text and sealed_text.

    They come in the order of `user_keys`, those of the first person from the id `first` on.
    """
    parameters = {"user_keys": list(user_keys), "first": first, "space_key": space_key, "limit": limit}
    async with pool.connection() as conn, conn.cursor(binary=True) as cursor:
        return await (await cursor.execute(_NEXT, parameters)).fetchall()


async def move_rows(
    pool: Pool, user_id: str, moved: Sequence[tuple[Mapping[str, Any], list[float]]], *, space_key: int
) -> int:
    """Give rows of one person their new vectors in one transaction; return how many were still as they were read.

    Takes the lock of savers first, so that neither sees half of what the other does.
    """
    updates = [{**row, **vector_columns(vector), "space_key": space_key} for row, vector in moved]
    async with pool.connection() as conn, conn.transaction(), conn.cursor(binary=True) as cursor:
        await lock_person(cursor, user_id)
        await cursor.executemany(_MOVE, updates)
        return cursor.rowcount


async def settle_person(pool: Pool, user_key: int, user_id: str, *, space_key: int) -> bool:
    """Note that all memories of a person are in the space, if that is so."""
    async with pool.connection() as conn, conn.transaction(), conn.cursor() as cursor:
        await lock_person(cursor, user_id)
        await cursor.execute(_SETTLE, {"user_key": user_key, "space_key": space_key})
        return cursor.rowcount == 1
