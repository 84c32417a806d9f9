"""Lend connections of a pool: in turn, and fit for a pooler between here and the server.

A pooler in transaction mode (PgBouncer, Supavisor, RDS Proxy) gives each transaction another server, which knows nothing of
statements that were prepared on the one before. Who connects to PostgreSQL itself is told the number of its process; a
pooler tells one that it has made up, as its servers change.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from psycopg import AsyncConnection, Connection
from psycopg.pq import TransactionStatus
from psycopg.rows import scalar_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from discreet.connection_queue import async_queue, sync_queue
from discreet.errors import ConfigurationError, ForkedProcessError, UnsupportedServerError
from discreet.settings import Pooler, load_settings

C = TypeVar("C", bound=AsyncConnection[Any])

_SERVER_PROCESS = "SELECT pg_backend_pid()"

_pooled: WeakKeyDictionary[AsyncConnection[Any] | Connection[Any], bool] = WeakKeyDictionary()
"""Whether a pooler is in between, for connections of which it was found out."""


_opened: WeakSet[Any] = WeakSet()
"""Pools and connections that this process works on."""
_inherited: WeakSet[Any] = WeakSet()
"""Those of the process that it was forked from."""


def note_opened(source: object) -> None:
    """Take note of a pool or connection that this process works on: one that is forked from it can't."""
    _opened.add(source)


def check_opened_here(source: object) -> None:
    """Look whether this process may work on a pool or connection.

    Raises:
        ForkedProcessError: It was opened before the process was forked.
    """
    if source in _inherited:
        raise ForkedProcessError


def _let_go() -> None:
    """Leave the connections to the process that this one was just forked from: what is said or closed here, the server never hears."""
    _inherited.update([*_opened, *_pooled])
    _opened.clear()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for conn in [*_pooled]:
        if not conn.closed:
            os.dup2(nowhere, conn.fileno())
    os.close(nowhere)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)


class QueuedPool(AsyncConnectionPool[C]):
    """A pool whose `connection()` is lent in turn, to whoever asks, and comes back from those who are cancelled too."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """Take what psycopg's pool does."""
        super().__init__(*args, **options)
        note_opened(self)
        self._returning: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def connection(self, timeout: float | None = None) -> AsyncIterator[C]:
        """Yield a connection when it is this caller's turn; `timeout` begins to count then.

        Raises:
            StorageBusyError: DISCREET_MAX_WAITING others wait already, or nobody got on for twice the pool's time.
            PoolTimeout: The pool had none in its time, or had none for those before.
            ForkedProcessError: The pool was opened before the process was forked.
        """
        check_opened_here(self)
        async with async_queue(self).place(), super().connection(timeout) as conn:
            yield conn

    async def putconn(self, conn: C) -> None:
        """Take `conn` back, in a task of its own: where a cancellation meets the pool's locks, psycopg's own loses the place.

        At once where nothing has to be waited for: a task takes the event loop two more rounds. It is lent next then, so that
        statements are prepared on as few connections as are needed at a time.
        """
        if self._takes_at_once(conn):
            await super().putconn(conn)
            if self._pool and self._pool[-1] is conn:
                self._pool.rotate(1)
            return
        returning = asyncio.create_task(super().putconn(conn))
        self._returning.add(returning)
        returning.add_done_callback(self._returning.discard)
        await asyncio.shield(returning)

    def _takes_at_once(self, conn: C) -> bool:
        """Whether psycopg takes `conn` back without a wait, by what is private to it.

        Nobody holds its lock or stands before it, nobody waits to be handed a connection, and this one is to be kept.
        """
        return (
            conn.pgconn.transaction_status == TransactionStatus.IDLE
            and not self._waiting
            and not self._lock.locked()
            and not self._lock._waiters  # noqa: SLF001  # a lock that was given up is free, and yet promised to these
            and conn._created_at > self._drained_at  # noqa: SLF001  # nothing public tells
            and conn._expire_at > time.monotonic()  # noqa: SLF001  # the same
        )


@asynccontextmanager
async def lease(pool: AsyncConnectionPool[Any]) -> AsyncIterator[AsyncConnection[Any]]:
    """Yield a connection of `pool` when it is this caller's turn.

    Raises:
        StorageBusyError: DISCREET_MAX_WAITING others wait already, or nobody got on for twice the pool's time.
        PoolTimeout: The pool had none in its time, or had none for those before.
    """
    if isinstance(pool, QueuedPool):  # stands in line by itself; two places for one caller could keep all waiting
        async with pool.connection() as conn:
            await check_pooler(conn)
            yield conn
        return
    check_opened_here(pool)
    async with async_queue(pool).place(), pool.connection() as conn:
        await check_pooler(conn)
        yield conn


@contextmanager
def sync_lease(pool: ConnectionPool[Any]) -> Iterator[Connection[Any]]:
    """Do what `lease` does, blocking."""
    check_opened_here(pool)
    with sync_queue(pool).place(), pool.connection() as conn:
        sync_check_pooler(conn)
        yield conn


def check_encoding(conn: AsyncConnection[Any] | Connection[Any]) -> None:
    """Look whether what people write reaches the database and comes back, by what the server said when it was connected to.

    Raises:
        UnsupportedServerError: The database is not UTF-8.
        ConfigurationError: The connection isn't.
    """
    server, client = map(conn.pgconn.parameter_status, (b"server_encoding", b"client_encoding"))
    if server not in {b"UTF8", None}:
        raise UnsupportedServerError(
            f"This database has the encoding {server.decode()}, which can't hold what people write. Make one with "
            "CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0."
        )
    if client not in {b"UTF8", None}:
        raise ConfigurationError(
            f"This connection has the client_encoding {client.decode()}, in which not everything can be sent that people write. Open the "
            'pool or the connection with client_encoding="UTF8": kwargs={"client_encoding": "UTF8", …}.'
        )


async def check_pooler(conn: AsyncConnection[Any]) -> None:
    """See to it that nothing is prepared on `conn` behind a pooler, or as DISCREET_POOLER says. Asks once.

    Raises:
        UnsupportedServerError: See `check_encoding`.
        ConfigurationError: See `check_encoding`.
        ForkedProcessError: `conn` was opened before the process was forked.
    """
    check_opened_here(conn)
    if conn in _pooled:
        return
    check_encoding(conn)
    setting = load_settings().pooler
    if not _is_asked(conn, setting):
        note_server_process(conn, None, setting)
        return
    async with conn.cursor(row_factory=scalar_row) as cursor:
        await cursor.execute(_SERVER_PROCESS, prepare=False)
        note_server_process(conn, await cursor.fetchone(), setting)
    if not conn.autocommit:
        await conn.rollback()  # what comes may have to begin the transaction itself


def sync_check_pooler(conn: Connection[Any]) -> None:
    """Do what `check_pooler` does, blocking."""
    check_opened_here(conn)
    if conn in _pooled:
        return
    check_encoding(conn)
    setting = load_settings().pooler
    if not _is_asked(conn, setting):
        note_server_process(conn, None, setting)
        return
    with conn.cursor(row_factory=scalar_row) as cursor:
        note_server_process(conn, cursor.execute(_SERVER_PROCESS, prepare=False).fetchone(), setting)
    if not conn.autocommit:
        conn.rollback()


def note_server_process(conn: AsyncConnection[Any] | Connection[Any], process: int | None, setting: Pooler) -> bool:
    """Return whether a pooler is in between, and prepare nothing then.

    `process` is what the server says of itself, None if it was not asked; `setting` is DISCREET_POOLER.
    """
    between = process not in {None, conn.info.backend_pid} if setting == "auto" else setting
    if between:
        conn.prepare_threshold = None
    _pooled[conn] = between
    return between


def is_pooled(conn: AsyncConnection[Any] | Connection[Any]) -> bool:
    """Return whether `conn` is known to lead to a pooler: what a session is told would reach others."""
    return _pooled.get(conn, False)


def _is_asked(conn: AsyncConnection[Any] | Connection[Any], setting: Pooler) -> bool:
    return setting == "auto" and conn.prepare_threshold is not None
