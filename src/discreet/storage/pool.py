"""The pool of connections that everything in a process shares, LangGraph's own Postgres classes too."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pgvector.psycopg import register_vector_async
from psycopg import AsyncConnection, OperationalError
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from discreet.storage.server import connection_string, show_vector_types

WAIT_SECONDS = 10.0
"""How long a caller waits for a free connection. A search holds one for about 2 ms."""

OUTAGE_SECONDS = 0.5
"""How long a caller waits while the server refuses connections: a turn has several, and waits for each of them."""


Connection = AsyncConnection[DictRow]


class RememberedConnection(Connection):
    """A connection that remembers whether the last attempt to make one succeeded."""

    refused: ClassVar[dict[str, bool]] = {}
    """By connection string; it is the server that is down, not a pool."""

    @classmethod
    async def connect(cls, conninfo: str = "", **options: Any) -> Self:
        """Connect, and remember how it went."""
        try:
            made = await super().connect(conninfo, **options)
        except OperationalError:
            cls.refused[conninfo] = True
            raise
        cls.refused.pop(conninfo, None)
        return made


class Pool(AsyncConnectionPool[Connection]):
    """A pool whose callers don't wait their full time for a server that refuses connections."""

    async def getconn(self, timeout: float | None = None) -> Connection:  # noqa: ASYNC109  # psycopg's signature
        """Return a connection within `timeout` seconds.

        Raises:
            PoolTimeout: There is none; after half a second where the server refuses new ones.
        """
        patience = self.timeout if timeout is None else timeout
        first = min(patience, OUTAGE_SECONDS)
        try:
            return await super().getconn(first)
        except PoolTimeout:
            if first == patience or RememberedConnection.refused.get(str(self.conninfo)):
                raise
        return await super().getconn(patience - first)


def make_pool(dsn: str, *, max_size: int) -> Pool:
    """Return a closed pool of at most `max_size` connections.

    `AsyncPostgresSaver` and `AsyncPostgresStore` need autocommit and rows as dicts, and so do we.
    """
    return Pool(
        connection_string(dsn),
        connection_class=RememberedConnection,
        kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
        min_size=1,
        max_size=max_size,
        timeout=WAIT_SECONDS,
        configure=_configure,
        check=_check,
        open=False,
        name="discreet",
    )


async def _configure(conn: Connection) -> None:
    # A generic plan saves planning each search anew (0.3 ms of 1.5). Pages come from memory or flash: with the default,
    # made for disks, a server of few users would read everybody's rows. Workers cost more than one user's scan.
    await conn.execute("SET plan_cache_mode = force_generic_plan")
    await conn.execute("SET random_page_cost = 1.1")
    await conn.execute("SET max_parallel_workers_per_gather = 0")
    await show_vector_types(conn)
    await register_vector_async(conn)


async def _check(conn: Connection) -> None:
    """Raise for a connection that the server has closed, without a round trip.

    What the server said goes into the buffer first; it is the second read that meets the end of the stream.
    """
    conn.pgconn.consume_input()
    conn.pgconn.consume_input()
