"""Run one statement on a connection of its own, or on a cursor of its own in a transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psycopg import AsyncCursor
from psycopg.abc import QueryNoTemplate

from discreet.driver_errors import storage_errors
from discreet.storage.database.connecting.pool import Pool


async def fetch(pool: Pool, statement: QueryNoTemplate, given: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """Return the rows of `statement`, read in binary.

    Raises:
        StorageError: The database failed.
    """
    with storage_errors():
        async with pool.connection() as conn, conn.cursor(binary=True) as cursor:
            return await (await cursor.execute(statement, given)).fetchall()


async def fetch_in(
    cursor: AsyncCursor[dict[str, Any]], statement: QueryNoTemplate, given: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Return the rows of `statement`, executed where `cursor` is.

    On a cursor of its own: in a pipeline answers to what `cursor` executed before may come first, and would be taken for these.
    """
    async with cursor.connection.cursor(binary=True) as own:
        return await (await own.execute(statement, given)).fetchall()


async def run(pool: Pool, statement: QueryNoTemplate, given: Mapping[str, Any] | None = None) -> int:
    """Return how many rows `statement` wrote.

    Raises:
        StorageError: The database failed; nothing was written.
    """
    with storage_errors():
        async with pool.connection() as conn:
            return (await conn.execute(statement, given)).rowcount
