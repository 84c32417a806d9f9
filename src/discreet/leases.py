"""Lend connections of a pool: in turn, and fit for a pooler between here and the server.

A pooler in transaction mode (PgBouncer, Supavisor, RDS Proxy) gives each transaction another server, which knows nothing of
statements that were prepared on the one before. Who connects to PostgreSQL itself is told the number of its process; a
pooler tells one that it has made up, as its servers change.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from weakref import WeakSet

from psycopg import AsyncConnection, Connection
from psycopg.rows import scalar_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from discreet.connection_queue import async_queue, sync_queue
from discreet.settings import load_settings

_SERVER_PROCESS = "SELECT pg_backend_pid()"

_known: WeakSet[AsyncConnection[Any] | Connection[Any]] = WeakSet()
"""Connections of which it was found out whether they lead to one server."""


@asynccontextmanager
async def lease(pool: AsyncConnectionPool[Any]) -> AsyncIterator[AsyncConnection[Any]]:
    """Yield a connection of `pool` when it is this caller's turn.

    Raises:
        StorageBusyError: DISCREET_MAX_WAITING others wait already.
        PoolTimeout: The pool had none in its time, or had none for those before.
    """
    async with async_queue(pool).place(), pool.connection() as conn:
        await check_prepared(conn)
        yield conn


@contextmanager
def sync_lease(pool: ConnectionPool[Any]) -> Iterator[Connection[Any]]:
    """Do what `lease` does, blocking."""
    with sync_queue(pool).place(), pool.connection() as conn:
        sync_check_prepared(conn)
        yield conn


async def check_prepared(conn: AsyncConnection[Any]) -> None:
    """See to it that nothing is prepared on `conn` behind a pooler, or as DISCREET_PREPARED_STATEMENTS says. Asks once."""
    if conn in _known:
        return
    if _is_asked(conn):
        async with conn.cursor(row_factory=scalar_row) as cursor:
            await cursor.execute(_SERVER_PROCESS, prepare=False)
            _compare(conn, await cursor.fetchone())
        if not conn.autocommit:
            await conn.rollback()  # what comes may have to begin the transaction itself
    _known.add(conn)


def sync_check_prepared(conn: Connection[Any]) -> None:
    """Do what `check_prepared` does, blocking."""
    if conn in _known:
        return
    if _is_asked(conn):
        with conn.cursor(row_factory=scalar_row) as cursor:
            _compare(conn, cursor.execute(_SERVER_PROCESS, prepare=False).fetchone())
        if not conn.autocommit:
            conn.rollback()
    _known.add(conn)


def _is_asked(conn: AsyncConnection[Any] | Connection[Any]) -> bool:
    """Do what the setting says. Return whether the server has to be asked."""
    setting = load_settings().prepared_statements
    if setting == "off":
        conn.prepare_threshold = None
    return setting == "auto" and conn.prepare_threshold is not None


def _compare(conn: AsyncConnection[Any] | Connection[Any], server_process: int | None) -> None:
    if server_process != conn.info.backend_pid:
        conn.prepare_threshold = None
