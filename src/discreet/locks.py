"""Let one process at a time create tables with LangGraph's own `setup`, which takes no lock and races.

Three of four first starts at once failed with a UniqueViolation. The lock is polled, not waited for: CREATE INDEX
CONCURRENTLY, which LangGraph runs, waits for every statement that is under way, so also for one that waits for the lock.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from psycopg import AsyncConnection, Connection
from psycopg.rows import scalar_row

from discreet.errors import MigrationError

SETUP_LOCK = 0x4449_5343_5245_4554
"""Key of the advisory lock: "DISCREET" in ASCII."""
TIMEOUT_SECONDS = 60.0
POLL_SECONDS = 0.05

_TRY_LOCK = "SELECT pg_try_advisory_lock(%s)"
_UNLOCK = "SELECT pg_advisory_unlock(%s)"


@asynccontextmanager
async def setup_lock(conn: AsyncConnection[Any]) -> AsyncIterator[None]:
    """Hold the lock in the session of `conn`, which must be in autocommit.

    Raises:
        MigrationError: Another process held it for a minute.
    """
    deadline = time.monotonic() + TIMEOUT_SECONDS
    async with conn.cursor(row_factory=scalar_row) as cursor:
        while not await (await cursor.execute(_TRY_LOCK, (SETUP_LOCK,))).fetchone():
            _check(deadline)
            await asyncio.sleep(POLL_SECONDS)
    try:
        yield
    finally:
        await conn.execute(_UNLOCK, (SETUP_LOCK,))


@contextmanager
def sync_setup_lock(conn: Connection[Any]) -> Iterator[None]:
    """Do what `setup_lock` does, blocking."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    with conn.cursor(row_factory=scalar_row) as cursor:
        while not cursor.execute(_TRY_LOCK, (SETUP_LOCK,)).fetchone():
            _check(deadline)
            time.sleep(POLL_SECONDS)
    try:
        yield
    finally:
        conn.execute(_UNLOCK, (SETUP_LOCK,))


def _check(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise MigrationError(
            f"Another process has been creating LangGraph's tables for over {TIMEOUT_SECONDS:.0f} s. "
            "Wait for it, or end its session in pg_stat_activity, then start again."
        )
