"""Sessions of others at a database: opened, waited for, ended."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, LiteralString

from psycopg import AsyncConnection

PATIENCE_SECONDS = 60


@asynccontextmanager
async def connected(dsn: str) -> AsyncIterator[AsyncConnection[Any]]:
    """Yield a connection in autocommit."""
    async with await AsyncConnection.connect(dsn, autocommit=True) as connection:
        yield connection


async def until(dsn: str, condition: LiteralString) -> None:
    """Wait until `condition` holds of a session at this database, a row of pg_stat_activity."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    async with connected(dsn) as connection:
        while not (await connection.execute(_those("SELECT", condition))).rowcount:
            assert time.monotonic() < deadline, f"never seen: {condition}"
            await asyncio.sleep(0.02)


async def end(dsn: str, condition: LiteralString) -> None:
    """End the sessions of which `condition` holds, and wait until they have."""
    async with connected(dsn) as connection:
        await connection.execute(_those("SELECT pg_terminate_backend(pid, 60000)", condition))


def _those(what: LiteralString, condition: LiteralString) -> LiteralString:
    others = "datname = current_database() AND pid <> pg_backend_pid()"
    return f"{what} FROM pg_stat_activity WHERE {others} AND {condition}"
