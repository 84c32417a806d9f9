"""Move one user's memories from the embedding spaces they are in to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString
from uuid import UUID

from pgvector import HalfVector

from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.users.locks import UserLocks
from discreet.storage.memories.rows import TEXT_COLUMNS, Vectors

FIRST_ID = UUID(int=0)
"""No id is smaller."""

_NEXT: LiteralString = f"""
SELECT {TEXT_COLUMNS}, (SELECT epoch FROM discreet.users WHERE user_key = %(user_key)s) AS epoch
FROM discreet.memory m
WHERE m.user_key = %(user_key)s AND m.space_key <> %(space_key)s AND m.entry_id >= %(first)s
ORDER BY m.entry_id
LIMIT %(limit)s
"""

_MOVE: LiteralString = """
UPDATE discreet.memory
SET space_key = %(space_key)s, embedding = %(embedding)s, sketch = binary_quantize(%(embedding)s::halfvec)
WHERE user_key = %(user_key)s AND entry_id = %(entry_id)s AND space_key <> %(space_key)s
  AND text IS NOT DISTINCT FROM %(text)s AND sealed_text IS NOT DISTINCT FROM %(sealed_text)s
"""
"""A row that was written anew since it was read keeps what it has; it is read again if that is of another space."""

_SETTLE: LiteralString = """
UPDATE discreet.user_memories SET space_key = %(space_key)s
WHERE user_key = %(user_key)s
  AND NOT EXISTS (SELECT FROM discreet.memory WHERE user_key = %(user_key)s AND space_key <> %(space_key)s)
"""


async def rows_to_move(
    pool: Pool, user_keys: Sequence[UUID], *, first: UUID, space_key: int, limit: int
) -> list[dict[str, Any]]:
    """Return at most `limit` rows of other spaces with `TEXT_COLUMNS`, and the epoch of their user.

    They come in the order of `user_keys`, those of the first user from the id `first` on.
    """
    rows: list[dict[str, Any]] = []
    async with pool.connection() as conn, conn.cursor(binary=True) as cursor:
        for user_key in user_keys:  # one by one: on a cluster each is on a node of their own
            given = {"user_key": user_key, "first": first, "space_key": space_key, "limit": limit - len(rows)}
            rows += await (await cursor.execute(_NEXT, given)).fetchall()
            if len(rows) == limit:
                break
            first = FIRST_ID
    return rows


async def move_rows(
    locks: UserLocks, user_key: UUID, moved: Sequence[tuple[Mapping[str, Any], Vectors]], *, space_key: int
) -> int:
    """Give rows of one user their new vectors in one transaction; return how many were still as they were read.

    Takes the lock of savers first, so that neither sees half of what the other does.

    Raises:
        UserErasedError: The user was erased since they were read.
    """
    updates = [{**row, "embedding": HalfVector(vector), "space_key": space_key} for row, vector in moved]
    epoch = min((row["epoch"] for row, _ in moved), default=None)
    async with locks.locked([user_key], epoch=epoch, adds=False) as locked:
        await locked.cursor.executemany(_MOVE, updates)
        return locked.cursor.rowcount


async def settle_user(locks: UserLocks, user_key: UUID, *, space_key: int) -> bool:
    """Note that all memories of a user are in the space, if that is so."""
    async with locks.locked([user_key], adds=False) as locked:
        await locked.cursor.execute(_SETTLE, {"user_key": user_key, "space_key": space_key})
        return locked.cursor.rowcount == 1
