"""Count in how many memories each token is: for each user as they change, and for all users together now and then.

What a save changes is written where the user's memories are, as one row, and goes with them. The sums over all users are
what a search needs: how rare a word is among all.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, LiteralString
from uuid import UUID, uuid4

import numpy as np
from psycopg import AsyncCursor

from discreet.driver_errors import storage_errors
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.leases import TOKEN_COUNTS, job_lease

PERIOD_SECONDS = 60.0
"""From one sum to the next, at least."""

SHARE = 0.01
"""Of the time that may be spent on summing: a sum that takes ten seconds is made anew after a thousand."""

MOST_CHANGES = 32
"""Rows of one user that are left as they are; more are merged into one."""

_ADD: LiteralString = """
INSERT INTO discreet.user_token (user_key, change_key, tokens, documents)
VALUES (%(user_key)s, %(change_key)s, %(tokens)t::integer[], %(documents)t::integer[])
"""
"""Arrays as their literals: for those of a hundred memories the driver needs 0.3 ms instead of 2.5."""

_MANY: LiteralString = """
SELECT user_key FROM discreet.user_token GROUP BY user_key HAVING count(*) > %(most)s
"""

_LOCK: LiteralString = """
SELECT FROM discreet.user_memories WHERE user_key = %(user_key)s FOR NO KEY UPDATE SKIP LOCKED
"""

_TAKE: LiteralString = """
DELETE FROM discreet.user_token WHERE user_key = %(user_key)s RETURNING tokens, documents
"""
_HEADER_BYTES = 20
"""Of an array of one dimension in binary format. Then there is the size of each element, in 4 bytes, and the element, in 4 too."""

_IS_DUE: LiteralString = "SELECT counted_at < now() - make_interval(secs => %(seconds)s) AS is_due FROM discreet.corpus"

_ALL: LiteralString = """
SELECT token, sum(documents) AS documents
FROM (SELECT unnest(tokens) AS token, unnest(documents) AS documents FROM discreet.user_token) t
GROUP BY token
HAVING sum(documents) > 0
"""

_SUM: LiteralString = f"""
INSERT INTO discreet.token_frequency AS f (token, documents)
{_ALL}
ON CONFLICT (token) DO UPDATE SET documents = excluded.documents WHERE f.documents <> excluded.documents
"""

_GONE: LiteralString = f"SELECT token FROM discreet.token_frequency EXCEPT SELECT token FROM ({_ALL}) a"

_DROP: LiteralString = "DELETE FROM discreet.token_frequency WHERE token = ANY (%(tokens)s)"

_MEMORIES: LiteralString = "SELECT coalesce(sum(memories), 0)::bigint AS documents FROM discreet.user_memories"

_SUMMED: LiteralString = "UPDATE discreet.corpus SET documents = %(documents)s, counted_at = now()"


async def count_tokens(
    cursor: AsyncCursor[dict[str, Any]],
    user_key: UUID,
    *,
    new: Iterable[Iterable[int]] = (),
    gone: Iterable[Iterable[int]] = (),
) -> None:
    """Count the memories of a user that are `new` and those that are `gone`, each by its distinct tokens.

    In the transaction that writes or deletes them. The user must be locked. Of a token that no memory has any more nothing
    is left.
    """
    counts: Counter[int] = Counter()
    for tokens in new:
        counts.update(list(tokens))
    for tokens in gone:
        counts.subtract(list(tokens))
    if not any(counts.values()):
        return
    if any(documents < 0 for documents in counts.values()):
        counts.update(await _take(cursor, user_key))
    await _add(cursor, user_key, counts)


async def _take(cursor: AsyncCursor[dict[str, Any]], user_key: UUID) -> Counter[int]:
    """Delete the rows of a user, who must be locked; return what they add up to."""
    counts: Counter[int] = Counter()
    async with cursor.connection.cursor(binary=True) as own:  # as `fetch_in`
        await own.execute(_TAKE, {"user_key": user_key})
        await own.fetchone()  # in a pipeline there is no result before one is asked for
        if (taken := own.pgresult) is not None:
            for row in range(taken.ntuples):
                tokens, documents = _numbers(taken.get_value(row, 0)), _numbers(taken.get_value(row, 1))
                for token, number in zip(tokens, documents, strict=True):
                    counts[token] += number
    return counts


async def _add(cursor: AsyncCursor[dict[str, Any]], user_key: UUID, counts: Mapping[int, int]) -> None:
    """Add a row with what the numbers of documents change by, by token."""
    changed = {token: documents for token, documents in counts.items() if documents}
    if changed:
        given = {"tokens": _literal(changed), "documents": _literal(changed.values())}
        await cursor.execute(_ADD, {"user_key": user_key, "change_key": uuid4(), **given})


def _numbers(sent: bytes | None) -> list[int]:
    """Return the numbers in an array in binary format: the driver takes ten times as long."""
    elements = np.frombuffer(sent or b"", dtype=[("size", ">i4"), ("number", ">i4")], offset=_HEADER_BYTES)
    numbers: list[int] = elements["number"].tolist()
    return numbers


def _literal(numbers: Iterable[int]) -> str:
    return f"{{{','.join(map(str, numbers))}}}"


class TokenSums:
    """Sums the counts of all users, by one process at a time."""

    def __init__(self, pool: Pool, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Use `pool`, whose owner closes it."""
        self._pool = pool
        self._clock = clock
        self._took = 0.0

    async def keep(self) -> None:
        """Sum anew, if that is due and no other process is at it.

        Raises:
            StorageError: The database failed; the sums are as they were.
        """
        began = self._clock()
        with storage_errors():
            async with self._pool.connection() as conn, conn.cursor(binary=True) as cursor:
                if not await self._is_due(cursor):
                    return
                await _merge(cursor)
            async with self._pool.connection() as conn, job_lease(conn, TOKEN_COUNTS) as leased:
                if leased and await self._is_due(conn.cursor(binary=True)):
                    await self.sum(conn.cursor(binary=True))
                    self._took = self._clock() - began

    async def sum(self, cursor: AsyncCursor[dict[str, Any]]) -> None:
        """Sum anew in a transaction of the caller's."""
        await cursor.execute(_SUM)
        gone = [row["token"] for row in await (await cursor.execute(_GONE)).fetchall()]
        if gone:
            await cursor.execute(_DROP, {"tokens": gone})
        row = await (await cursor.execute(_MEMORIES)).fetchone()
        await cursor.execute(_SUMMED, row)

    async def _is_due(self, cursor: AsyncCursor[dict[str, Any]]) -> bool:
        seconds = max(PERIOD_SECONDS, self._took / SHARE)
        row = await (await cursor.execute(_IS_DUE, {"seconds": seconds})).fetchone()
        return row is not None and row["is_due"]


async def _merge(cursor: AsyncCursor[dict[str, Any]]) -> None:
    """Merge the rows of users who have many, each user's in a transaction. Who is being written for is left for later."""
    many = await (await cursor.execute(_MANY, {"most": MOST_CHANGES})).fetchall()
    for found in many:
        async with cursor.connection.transaction():
            if await (await cursor.execute(_LOCK, found)).fetchone() is not None:
                await _add(cursor, found["user_key"], await _take(cursor, found["user_key"]))
