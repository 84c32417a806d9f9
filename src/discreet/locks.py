"""Let one process at a time create tables with LangGraph's own migrations, which take no lock and race.

Three of four first starts at once failed with a UniqueViolation. The lock belongs to a transaction that does nothing else,
so that it works behind a pooler too, and goes with the connection. It is polled, not waited for: CREATE INDEX CONCURRENTLY
waits for every transaction that has a snapshot, so for one that waits for the lock, but not for one that idles with it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from psycopg import AsyncConnection, Connection, IsolationLevel
from psycopg.rows import scalar_row

from discreet.errors import MigrationError

SETUP_LOCK = 0x4449_5343_5245_4554
"""Key of the advisory lock: "DISCREET" in ASCII."""
TIMEOUT_SECONDS = 60.0
POLL_SECONDS = 0.05

_TRY_LOCK = "SELECT pg_try_advisory_xact_lock(%s)"
_MAY_IDLE = "SET LOCAL idle_in_transaction_session_timeout = 0"
"""Building an index may take longer than a server lets a transaction idle.

It also ends the SELECT before it, whose portal would keep a snapshot until the next statement (PostgreSQL docs,
"Extended Query").
"""


@asynccontextmanager
async def setup_lock(conn: AsyncConnection[Any]) -> AsyncIterator[None]:
    """Hold the lock in a transaction of `conn`, which is in autocommit and stays idle: another connection does the work.

    Raises:
        MigrationError: Another process held it for a minute.
    """
    deadline = time.monotonic() + TIMEOUT_SECONDS
    await conn.set_isolation_level(IsolationLevel.READ_COMMITTED)  # any stricter one would keep a snapshot
    while True:
        async with conn.transaction(), conn.cursor(row_factory=scalar_row) as cursor:
            if await (await cursor.execute(_TRY_LOCK, (SETUP_LOCK,))).fetchone():
                await cursor.execute(_MAY_IDLE)
                yield
                return
        _check(deadline)
        await asyncio.sleep(POLL_SECONDS)


@contextmanager
def sync_setup_lock(conn: Connection[Any]) -> Iterator[None]:
    """Do what `setup_lock` does, blocking."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    conn.isolation_level = IsolationLevel.READ_COMMITTED
    while True:
        with conn.transaction(), conn.cursor(row_factory=scalar_row) as cursor:
            if cursor.execute(_TRY_LOCK, (SETUP_LOCK,)).fetchone():
                cursor.execute(_MAY_IDLE)
                yield
                return
        _check(deadline)
        time.sleep(POLL_SECONDS)


def _check(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise MigrationError(
            f"Another process has been creating LangGraph's tables for over {TIMEOUT_SECONDS:.0f} s. "
            "Wait for it, or end its session in pg_stat_activity, then start again."
        )
