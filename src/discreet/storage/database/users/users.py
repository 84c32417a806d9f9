"""The rows of users: made with the first thing that is written for them, held by whoever writes, and locked by whoever saves.

A user's epoch says how often all of theirs was erased. What is written holds their row FOR SHARE, so that an erasure waits
for it or is seen by it; and it may say under which epoch its work began, so that what was under way while a user was
erased stores nothing afterwards.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

from psycopg import AsyncCursor

from discreet.errors import UserBusyError, UserErasedError
from discreet.storage.database.connecting.pool import Connection, Pool
from discreet.storage.database.users.epochs import FIRST_EPOCH, began_under
from discreet.storage.database.users.waiting import attempts

OWNER: LiteralString = """
owner AS MATERIALIZED (
    SELECT user_key, epoch FROM discreet.users
    WHERE user_key = %(user_key)s AND (%(epoch)s::bigint IS NULL OR epoch = %(epoch)s)
    FOR SHARE SKIP LOCKED
)
"""
"""A common table expression: the user that a statement writes for, held until its transaction ends; no row while they are being
erased, so that nobody waits for that with a connection in hand. NOT EXISTS of a mark,
a plain read of the epoch, and FOR KEY SHARE would each let an erasure commit beside an open writer."""

_MAKE: LiteralString = f"""
WITH found AS (SELECT epoch FROM discreet.users WHERE user_key = %(user_key)s),
made AS (
    INSERT INTO discreet.users (user_key, expires_at)
    SELECT %(user_key)s, %(expires_at)s
    WHERE NOT EXISTS (SELECT FROM found) AND coalesce(%(epoch)s::bigint, {FIRST_EPOCH}) = {FIRST_EPOCH}
    ON CONFLICT DO NOTHING
)
SELECT coalesce((SELECT epoch FROM found), {FIRST_EPOCH}) AS epoch
"""
"""Make a user who is new; tell their epoch."""

_IS_KNOWN: LiteralString = "SELECT FROM discreet.users WHERE user_key = %(user_key)s"

_MAKE_MEMORIES: LiteralString = """
INSERT INTO discreet.user_memories (user_key)
SELECT u.user_key FROM discreet.users u
WHERE u.user_key = %(user_key)s
  AND NOT EXISTS (SELECT FROM discreet.user_memories m WHERE m.user_key = %(user_key)s)
ON CONFLICT DO NOTHING
"""
"""The row is looked for first: an insert would wait for who is deleting it."""

_LOCK: LiteralString = """
SELECT m.memories, m.entries
FROM discreet.users u
JOIN discreet.user_memories m USING (user_key)
WHERE u.user_key = %(user_key)s AND m.user_key = %(user_key)s
  AND (%(epoch)s::bigint IS NULL OR u.epoch = %(epoch)s)
FOR SHARE OF u SKIP LOCKED FOR NO KEY UPDATE OF m SKIP LOCKED
"""
"""A statement of its own before all others: the next one's snapshot has what the previous holder committed. Without it 16
writers of 5 equal facts made 40 rows. It doesn't wait, so that nobody does with a connection in hand."""

_LOCK_EMPTY: LiteralString = """
WITH held AS MATERIALIZED (
    SELECT user_key FROM discreet.users WHERE user_key = %(user_key)s FOR NO KEY UPDATE SKIP LOCKED
)
SELECT u.epoch,
    EXISTS (SELECT FROM held) AND NOT EXISTS (
        SELECT FROM discreet.user_memories m WHERE m.user_key = %(user_key)s
    ) AS is_held
FROM discreet.users u
WHERE u.user_key = %(user_key)s
"""
"""Lock somebody who has no memories by their own row, which whoever makes some holds FOR SHARE."""

Cursor = AsyncCursor[dict[str, Any]]


class Counted(NamedTuple):
    """Of a user: how many memories there are, and the keyed sum of their ids as it is stored."""

    memories: int
    entries: bytes | None


_NONE = Counted(0, None)

Ahead = Callable[[Connection], Awaitable[None]]
"""Executes statements whose answers it reads later."""


async def lock_user(
    cursor: Cursor,
    user_key: UUID,
    *,
    epoch: int | None = None,
    ahead: Ahead | None = None,
) -> Counted | None:
    """Lock a user's memories until the transaction ends, and return how many there are.

    None if another writer is at them, or the user is new or has another epoch: `make_user` tells. In a pipeline the statements
    of `ahead` go out with the lock, before it is known.
    """
    await cursor.execute(_LOCK, {"user_key": user_key, "epoch": epoch})
    if ahead is not None:
        await ahead(cursor.connection)
    row = await cursor.fetchone()
    return None if row is None else Counted(row["memories"], row["entries"])


async def lock_known_user(cursor: Cursor, user_key: UUID, *, epoch: int | None = None) -> Counted | None:
    """Do as `lock_user` for work that adds nothing, and make nobody: who is new or was erased has no memories.

    Raises:
        UserErasedError: Theirs was erased after the work of `epoch` began.
    """
    if (found := await lock_user(cursor, user_key, epoch=epoch)) is not None:
        return found
    row = await (await cursor.execute(_LOCK_EMPTY, {"user_key": user_key})).fetchone()
    if row is None:
        return _NONE
    _check_epoch(row["epoch"], epoch)
    return _NONE if row["is_held"] else None


async def make_user(cursor: Cursor, user_key: UUID, *, epoch: int | None = None) -> None:
    """Make a user who is new, outside of transactions: whoever else made them would wait until this one's ends.

    Raises:
        UserErasedError: Theirs was erased after the work of `epoch` began.
    """
    given = {"user_key": user_key, "epoch": epoch, "expires_at": None}
    await _make(cursor, given)
    await cursor.execute(_MAKE_MEMORIES, given)


async def write_for_user(pool: Pool, statement: LiteralString, given: Mapping[str, Any]) -> dict[str, Any]:
    """Run a statement that holds `OWNER` and returns a row that says whether there `is_owner`; return that row.

    See `rows_for_user`.
    """
    return (await rows_for_user(pool, statement, given))[0]


async def rows_for_user(pool: Pool, statement: LiteralString, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Run a statement that holds `OWNER` and returns rows that say whether there `is_owner`; return these rows.

    `given` has user_key, and may have epoch and expires_at: until when one who is new is kept. Users who are new are made. An
    epoch that is not given is that under which the turn began which this is done in, if it is done in one.

    Raises:
        UserErasedError: Theirs was erased after the work of that epoch began. Nothing was stored.
        UserBusyError: They are being erased, and that takes long. Nothing was stored.
    """
    given = {"expires_at": None, **given, "epoch": await began_under(pool, given["user_key"], given.get("epoch"))}
    async for _ in attempts():
        async with pool.connection() as conn, conn.cursor(binary=True) as cursor:
            for _ in range(2):
                if (rows := await _run(cursor, statement, given))[0]["is_owner"]:
                    return rows
                await _make(cursor, given)
    raise UserBusyError


async def change_for_user(pool: Pool, statement: LiteralString, given: Mapping[str, Any]) -> dict[str, Any]:
    """Do as `write_for_user` with a statement that adds nothing: of a user who isn't known there is nothing to change.

    Raises:
        UserBusyError: They are being erased, and that takes long. Nothing was changed.
    """
    given = {"epoch": None, **given}
    async for _ in attempts():
        async with pool.connection() as conn, conn.cursor(binary=True) as cursor:
            row = (await _run(cursor, statement, given))[0]
            if row["is_owner"] or await (await cursor.execute(_IS_KNOWN, given)).fetchone() is None:
                return row
    raise UserBusyError


async def _run(cursor: Cursor, statement: LiteralString, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    return await (await cursor.execute(statement, given)).fetchall() or [{"is_owner": False}]


async def _make(cursor: Cursor, given: Mapping[str, Any]) -> None:
    """Make a user who is new.

    Raises:
        UserErasedError: They have another epoch.
    """
    found = await (await cursor.execute(_MAKE, given)).fetchone()
    if found is not None:
        _check_epoch(found["epoch"], given["epoch"])


def _check_epoch(epoch: int, began: int | None) -> None:
    if began not in (None, epoch):
        raise UserErasedError
