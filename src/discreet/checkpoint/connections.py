"""A connection of one's own, beside those in use: a lock is held on one while another works."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from psycopg import AsyncConnection, Connection, ConnectionInfo
from psycopg.conninfo import make_conninfo
from psycopg_pool import AsyncConnectionPool, ConnectionPool

OPTIONS: dict[str, Any] = {"autocommit": True, "prepare_threshold": None, "client_encoding": "UTF8"}
"""Nothing is done twice on such a connection, and there may be a pooler in between."""


@asynccontextmanager
async def own_connection(
    source: AsyncConnection[Any] | AsyncConnectionPool[Any],
) -> AsyncIterator[AsyncConnection[Any]]:
    """Yield a new connection to where `source` leads, in autocommit."""
    given: dict[str, Any] = {}
    if isinstance(source, AsyncConnection):
        conninfo = _conninfo(source.info)
    else:
        conninfo = await source._resolve_conninfo()  # noqa: SLF001  # it may come from a callable, and only this calls it
        given = await source._resolve_kwargs()  # noqa: SLF001  # as above
    async with await AsyncConnection.connect(conninfo, **{**given, **OPTIONS}) as own:
        yield own


@contextmanager
def own_sync_connection(source: Connection[Any] | ConnectionPool[Any]) -> Iterator[Connection[Any]]:
    """Do what `own_connection` does, blocking."""
    given: dict[str, Any] = {}
    if isinstance(source, Connection):
        conninfo = _conninfo(source.info)
    else:
        conninfo, given = source._resolve_conninfo(), source._resolve_kwargs()  # noqa: SLF001  # as above
    with Connection.connect(conninfo, **{**given, **OPTIONS}) as own:
        yield own


def _conninfo(info: ConnectionInfo) -> str:
    return make_conninfo(**info.get_parameters(), password=info.password or None)
