"""Delete items of the store that have expired, now and then."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import LiteralString
from uuid import UUID

from discreet.access.user_keys import UserKeys
from discreet.driver_errors import storage_errors
from discreet.errors import StorageError, UserBusyError
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.users.locks import UserLocks
from discreet.storage.database.users.users import Cursor
from discreet.storage.memories.rows import tokens_of
from discreet.storage.memories.token_counts import count_tokens
from discreet.storage.store.writes import forget_if_empty

logger = logging.getLogger(__name__)

BATCH = 1_000
"""Items deleted in one transaction, so that none takes long."""

_DUE: LiteralString = """
SELECT DISTINCT user_key
FROM (SELECT user_key FROM discreet.store_item WHERE expires_at <= now() ORDER BY expires_at LIMIT %(batch)s) d
"""

_SWEEP: LiteralString = """
WITH due AS (
    SELECT user_key, item_key
    FROM discreet.store_item
    WHERE user_key = %(user_key)s AND expires_at <= now()
    LIMIT %(batch)s
    FOR UPDATE
),
gone AS (
    DELETE FROM discreet.store_item i
    USING due
    WHERE i.user_key = %(user_key)s AND i.item_key = due.item_key
    RETURNING i.item_key
),
texts AS (
    DELETE FROM discreet.memory m
    USING gone
    WHERE m.user_key = %(user_key)s AND m.thread_key = gone.item_key AND m.position IS NOT NULL AND m.type = 'item'
    RETURNING m.lexical
),
counted AS (
    UPDATE discreet.user_memories SET memories = memories - (SELECT count(*) FROM texts) WHERE user_key = %(user_key)s
)
SELECT (SELECT count(*) FROM gone) AS items, lexical FROM (VALUES (1)) AS always (one) LEFT JOIN texts ON true
"""


async def sweep_expired(pool: Pool, locks: UserLocks, keys: UserKeys) -> int:
    """Delete what has expired, a namespace in a transaction, at most `BATCH` items of it; return how many items went.

    Raises:
        StorageError: The database failed. What was deleted before stays so.
    """
    swept = 0
    while True:
        with storage_errors():
            items = await _sweep_batch(pool, locks, keys)
        swept += items
        if not items:
            return swept


async def _sweep_batch(pool: Pool, locks: UserLocks, keys: UserKeys) -> int:
    async with pool.connection() as conn, conn.cursor(binary=True) as cursor:
        due = [row["user_key"] for row in await (await cursor.execute(_DUE, {"batch": BATCH})).fetchall()]
    swept = 0
    for user_key in due:
        try:
            async with locks.locked([user_key], wait_seconds=0) as locked:
                swept += await _sweep(locked.cursor, user_key, keys)
        except UserBusyError:
            logger.info("store.namespace_not_swept cause=busy")  # the next sweep comes to it
    return swept


async def _sweep(cursor: Cursor, user_key: UUID, keys: UserKeys) -> int:
    rows = await (await cursor.execute(_SWEEP, {"user_key": user_key, "batch": BATCH})).fetchall()
    await count_tokens(cursor, user_key, keys, gone=map(tokens_of, rows))
    await forget_if_empty(cursor, [user_key])
    items: int = rows[0]["items"]
    return items


class Sweeper:
    """Calls `sweep` every so often in a task of its own."""

    def __init__(self, sweep: Callable[[], Awaitable[int]]) -> None:
        self._sweep = sweep
        self._task: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()

    def start(self, interval_seconds: float) -> asyncio.Task[None]:
        """Return the task, started now unless it runs."""
        if self._task is None or self._task.done():
            self._stopping.clear()
            self._task = asyncio.create_task(self._run(interval_seconds), name="discreet_store_sweeper")
        return self._task

    async def stop(self, timeout_seconds: float | None = None) -> bool:
        """Let a sweep that runs end; False if that takes longer than `timeout_seconds`: it is cancelled then."""
        if self._task is None or self._task.done():
            return True
        self._stopping.set()
        try:
            await asyncio.wait_for(self._task, timeout_seconds)
        except TimeoutError:
            return False
        return True

    async def _run(self, interval_seconds: float) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), interval_seconds)
            if self._stopping.is_set():
                return
            try:
                swept = await self._sweep()
            except StorageError as error:
                logger.warning("store.not_swept cause=%s", error.code)
            else:
                if swept:
                    logger.info("store.swept items=%d", swept)
