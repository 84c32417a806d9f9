"""A connection of one's own, beside a pool: advisory locks belong to the session that took them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from psycopg import AsyncConnection, Connection
from psycopg_pool import AsyncConnectionPool, ConnectionPool


@asynccontextmanager
async def own_connection(pool: AsyncConnectionPool[Any], **options: Any) -> AsyncIterator[AsyncConnection[Any]]:
    """Yield a new connection to where `pool` leads, in autocommit, with `options` over those of the pool."""
    given = await pool._resolve_kwargs()  # noqa: SLF001  # they may come from a callable, and only this calls it
    conninfo = await pool._resolve_conninfo()  # noqa: SLF001  # as above
    async with await AsyncConnection.connect(conninfo, **{**given, "autocommit": True, **options}) as own:
        yield own


@contextmanager
def own_sync_connection(pool: ConnectionPool[Any], **options: Any) -> Iterator[Connection[Any]]:
    """Do what `own_connection` does, blocking."""
    given = {**pool._resolve_kwargs(), "autocommit": True, **options}  # noqa: SLF001  # as above
    with Connection.connect(pool._resolve_conninfo(), **given) as own:  # noqa: SLF001  # as above
        yield own
