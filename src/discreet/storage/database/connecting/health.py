"""Tell whether the database works, without standing in line for it."""

from __future__ import annotations

from typing import Any, Literal

from psycopg import AsyncConnection

from discreet.connection_queue import async_queue
from discreet.driver_errors import storage_errors
from discreet.errors import TooManyConnectionsError
from discreet.storage.database.connecting.connection import connect
from discreet.storage.database.connecting.pool import Pool

BUSY_SECONDS = 0.5
"""How long somebody has to have waited: a moment in which all connections are in use is no news."""


class DatabaseHealth:
    """Asks the database a question that costs nothing."""

    def __init__(self, pool: Pool) -> None:
        """Ask over `pool` while it has connections to lend, else over one of its own."""
        self._pool = pool

    async def state(self) -> Literal["ok", "busy"]:
        """Return whether who asks the pool for a connection has to wait for long; the database itself works.

        Raises:
            StorageError: The database can't be reached, or can't work.
        """
        queue = async_queue(self._pool)
        if not queue.is_full:
            with storage_errors():
                async with self._pool.connection() as conn:
                    await _ask(conn)
            return "ok"
        try:
            with storage_errors():
                async with await connect(self._pool.target) as conn:
                    await _ask(conn)
        except TooManyConnectionsError:
            pass  # it has none to spare, and serves those there are
        return "busy" if queue.longest_wait >= BUSY_SECONDS else "ok"


async def _ask(conn: AsyncConnection[Any]) -> None:
    await conn.execute("SELECT 1")
