"""The pool of connections that everything in a process shares, LangGraph's own Postgres classes too."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, LiteralString

from psycopg import AsyncConnection, Error
from psycopg.errors import ConnectionTimeout, ReadOnlySqlTransaction
from psycopg.rows import DictRow, dict_row
from psycopg_pool import PoolTimeout

from discreet.access.user_keys import UserKeys
from discreet.driver_errors import explain
from discreet.errors import TooManyConnectionsError
from discreet.leases import QueuedPool, is_pooled
from discreet.storage.database.connecting.connection import StorageConnection
from discreet.storage.database.connecting.target import Target, target_of

WAIT_SECONDS = 10.0
"""How long a caller waits for a free connection once it is its turn. A search holds one for about 2 ms."""

OUTAGE_SECONDS = 0.5
"""How long a caller waits while the server refuses connections: a turn has several, and waits for each of them."""

Connection = AsyncConnection[DictRow]
"""As those see it who take a pool of anybody's."""

LOCK_SECONDS = 5.0
"""How long a statement waits for a lock, where the role or the DSN says nothing (`lock_timeout`). Nothing of ours keeps one for as
long; an administrator's ALTER TABLE may, and everybody would wait for it with a connection in hand."""

_SET_SESSION: LiteralString = """
SELECT
    set_config('default_transaction_isolation', 'read committed', false),
    set_config('random_page_cost', '1.1', false),
    set_config('max_parallel_workers_per_gather', '0', false),
    set_config('plan_cache_mode', CASE
        WHEN EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN 'force_custom_plan' ELSE 'force_generic_plan'
    END, false),
    set_config('lock_timeout', CASE current_setting('lock_timeout')
        WHEN '0' THEN %(lock)s ELSE current_setting('lock_timeout')
    END, false)
"""
"""What sessions of a direct connection are told. Statements that meet in the same rows wait for each other, as they are written for,
also where the role says serializable. Pages come from memory or flash: with the default, made for disks, a server of
few users would read everybody's rows. Parallel workers cost more than one user's scan. A generic plan saves planning each
search anew (0.3 ms of 1.5); Citus needs the values of a statement to know the node that it goes to."""


class Pool(QueuedPool[Connection]):
    """A pool whose callers stand in line, and don't wait their full time for a server that refuses connections."""

    def __init__(self, target: Target, **options: Any) -> None:
        """Take what psycopg's pool does, and where the connections lead."""
        self.target = target
        self.user_keys: UserKeys | None = None
        """By which the storage over it knows users, so that a checkpointer over it knows them by the same."""
        super().__init__(target.conninfo, **options)

    @asynccontextmanager
    async def connection(self, timeout: float | None = None) -> AsyncIterator[Connection]:
        """Yield a connection when it is this caller's turn.

        Of a connection that was lost meanwhile it raises why, as far as the server or a pooler has said it.

        A server that was written to and is a standby now is left, if the DSN asks for one that takes writes.

        Raises:
            StorageBusyError: DISCREET_MAX_WAITING others wait already, or nobody got on for twice the pool's time.
            PoolTimeout: As `getconn`.
        """
        try:
            async with super().connection(timeout) as conn:
                try:
                    yield conn
                except (Error, ValueError) as error:
                    if isinstance(conn, StorageConnection) and conn.is_lost:
                        raise conn.why_lost(error) from None
                    raise
        except ReadOnlySqlTransaction:
            if self.target.seeks_primary:
                await self.drain()
            raise

    async def getconn(self, timeout: float | None = None) -> Connection:
        """Return a connection within `timeout` seconds. Does not stand in line: `connection` does.

        Raises:
            PoolTimeout: There is none; after half a second where the server refuses new ones. It comes from the error of the
                last attempt to connect, from none if others have them all.
        """
        patience = self.timeout if timeout is None else timeout
        first = min(patience, OUTAGE_SECONDS)
        try:
            return await super().getconn(first)
        except PoolTimeout as error:
            if first == patience or self._is_down():
                raise error from self.failure
        try:
            return await super().getconn(patience - first)
        except PoolTimeout as error:
            raise error from self.failure

    @property
    def failure(self) -> Exception | None:
        """Why the last attempt to connect failed, if it did."""
        return StorageConnection.failed.get(str(self.conninfo))

    @property
    def is_refused(self) -> bool:
        """Whether the server refused the last connection that was asked of it. One that hangs doesn't answer at all."""
        return self.failure is not None and not isinstance(self.failure, ConnectionTimeout)

    def _is_down(self) -> bool:
        """Whether to expect nothing of the server. One that has too many connections still serves those there are."""
        return self.failure is not None and not isinstance(explain(self.failure), TooManyConnectionsError)


def make_pool(dsn: str | Target, *, max_size: int, min_size: int = 1) -> Pool:
    """Return a closed pool of `min_size` to `max_size` connections.

    `AsyncPostgresSaver` and `AsyncPostgresStore` need autocommit and rows as dicts, and so do we.
    """
    target = target_of(dsn)

    async def options() -> dict[str, Any]:
        given = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
        try:
            return {**given, **await target.options()}
        except Exception as error:
            StorageConnection.failed[target.conninfo] = error
            raise

    async def configure(conn: Connection) -> None:
        assert isinstance(conn, StorageConnection)  # as connection_class says
        await conn.look(target)
        if not is_pooled(conn):
            await conn.execute(_SET_SESSION, {"lock": f"{LOCK_SECONDS * 1e3:.0f}ms"}, prepare=False)

    return Pool(
        target,
        connection_class=StorageConnection,
        kwargs=options,
        min_size=min_size,
        max_size=max_size,
        timeout=WAIT_SECONDS,
        configure=configure,
        check=_check,
        open=False,
        name="discreet",
    )


async def sees_everybody(pool: Pool) -> bool:
    """Return whether the pool's role may read and change the rows of all users."""
    async with pool.connection() as conn:
        return not isinstance(conn, StorageConnection) or conn.sees_everybody


async def is_cluster(pool: Pool) -> bool:
    """Return whether it is the coordinator of a Citus cluster."""
    async with pool.connection() as conn:
        return isinstance(conn, StorageConnection) and conn.is_cluster


async def reads_only(pool: Pool) -> bool:
    """Return whether nothing can be written: it is a standby, or its sessions are made so."""
    async with pool.connection() as conn:
        row = await (await conn.execute("SELECT current_setting('transaction_read_only') AS read_only")).fetchone()
    return row is not None and row["read_only"] == "on"


async def _check(conn: Connection) -> None:
    """Raise for a connection that the server has closed, without a round trip.

    What the server said goes into the buffer first; it is the second read that meets the end of the stream.
    """
    conn.pgconn.consume_input()
    conn.pgconn.consume_input()
