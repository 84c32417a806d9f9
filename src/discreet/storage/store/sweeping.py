"""Delete items of the store that have expired, now and then."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import LiteralString
from uuid import UUID

from discreet.access.user_keys import UserKeys
from discreet.driver_errors import storage_errors
from discreet.errors import StorageError
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.users.by_user import delete_by_user
from discreet.storage.database.users.locks import UserLocks
from discreet.storage.database.users.users import Cursor
from discreet.storage.memories.entry_counts import count_entries
from discreet.storage.memories.rows import tokens_of
from discreet.storage.memories.token_counts import count_tokens
from discreet.storage.store.writes import forget_if_empty

logger = logging.getLogger(__name__)

BATCH = 1_000
"""Items deleted in one transaction, so that none takes long."""

_DUE: LiteralString = """
SELECT user_key, expires_at AS due FROM discreet.store_item
WHERE expires_at < %(until)s AND expires_at >= %(after)s::timestamptz
ORDER BY expires_at
LIMIT %(batch)s
"""

COUNT_EXPIRED: LiteralString = """
SELECT count(*) AS rows, min(expires_at) AS oldest FROM discreet.store_item WHERE expires_at < %(until)s
"""

_SWEEP: LiteralString = """
WITH due AS (
    SELECT user_key, item_key
    FROM discreet.store_item
    WHERE user_key = %(user_key)s AND expires_at < %(until)s
    ORDER BY expires_at
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
    RETURNING m.entry_id, m.lexical
)
SELECT (SELECT count(*) FROM gone) AS items, entry_id, lexical FROM (VALUES (1)) AS always (one) LEFT JOIN texts ON true
"""


async def delete_expired_items(
    works: Pool, locks: UserLocks, keys: UserKeys, *, until: datetime, batch: int = BATCH
) -> AsyncGenerator[int, None]:
    """Delete what expired before `until`, of a namespace at most `batch` items in a transaction; yield how many after each."""

    async def delete(cursor: Cursor, user_key: UUID) -> int:
        given = {"user_key": user_key, "until": until, "batch": batch}
        rows = await (await cursor.execute(_SWEEP, given)).fetchall()
        await count_tokens(cursor, user_key, gone=map(tokens_of, rows))
        await count_entries(cursor, user_key, keys, gone={row["entry_id"] for row in rows} - {None})
        await forget_if_empty(cursor, [user_key])
        items: int = rows[0]["items"]
        return items

    async for items in delete_by_user(works, locks, _DUE, delete, given={"until": until}, batch=batch):
        yield items


async def sweep_expired(works: Pool, locks: UserLocks, keys: UserKeys) -> int:
    """Delete what has expired; return how many items went.

    Raises:
        StorageError: The database failed. What was deleted before stays so.
    """
    with storage_errors():
        deleting = delete_expired_items(works, locks, keys, until=datetime.now(UTC))
        return sum([items async for items in deleting])


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
