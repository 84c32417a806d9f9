"""Delete items of the store that have expired, now and then."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import LiteralString

from discreet.driver_errors import storage_errors
from discreet.errors import StorageError
from discreet.storage.pool import Pool
from discreet.storage.store_writes import FORGET_EMPTY

logger = logging.getLogger(__name__)

BATCH = 1_000
"""Items deleted in one transaction, so that none takes long."""

_LOCK_DUE: LiteralString = """
WITH due AS MATERIALIZED (
    SELECT user_key, user_id
    FROM discreet.person
    WHERE user_key IN (
        SELECT user_key FROM discreet.store_item WHERE expires_at <= now() ORDER BY expires_at LIMIT %(batch)s
    )
)
SELECT user_key FROM due WHERE pg_try_advisory_xact_lock(hashtextextended(user_id, 1))
"""
"""The lock of `saving.lock_person`; a namespace that is being written is swept the next time. Materialized, since the
function would be called for other rows too if the planner moved it."""

_SWEEP: LiteralString = """
WITH due AS (
    SELECT user_key, item_key
    FROM discreet.store_item
    WHERE user_key = ANY (%(user_keys)s) AND expires_at <= now()
    LIMIT %(batch)s
    FOR UPDATE
),
gone AS (
    DELETE FROM discreet.store_item i
    USING due
    WHERE i.user_key = due.user_key AND i.item_key = due.item_key
    RETURNING i.user_key, i.item_key
),
texts AS (
    DELETE FROM discreet.memory m
    USING gone
    WHERE m.user_key = gone.user_key AND m.thread_key = gone.item_key AND m.position IS NOT NULL AND m.type = 'item'
    RETURNING m.user_key
),
counted AS (
    UPDATE discreet.person p
    SET memories = p.memories - t.texts
    FROM (SELECT user_key, count(*) AS texts FROM texts GROUP BY user_key) t
    WHERE p.user_key = t.user_key
)
SELECT count(*) AS items FROM gone
"""


async def sweep_expired(pool: Pool) -> int:
    """Delete what has expired, in transactions of at most `BATCH` items; return how many items went.

    Raises:
        StorageError: The database failed. What was deleted before stays so.
    """
    swept = 0
    while True:
        with storage_errors():
            items = await _sweep_batch(pool)
        swept += items
        if items < BATCH:
            return swept


async def _sweep_batch(pool: Pool) -> int:
    async with pool.connection() as conn, conn.transaction(), conn.cursor(binary=True) as cursor:
        await cursor.execute(_LOCK_DUE, {"batch": BATCH})
        user_keys = [row["user_key"] for row in await cursor.fetchall()]
        if not user_keys:
            return 0
        await cursor.execute(_SWEEP, {"user_keys": user_keys, "batch": BATCH})
        row = await cursor.fetchone()
        await cursor.execute(FORGET_EMPTY, {"user_keys": user_keys})
    assert row is not None  # an aggregate always returns a row
    items: int = row["items"]
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
