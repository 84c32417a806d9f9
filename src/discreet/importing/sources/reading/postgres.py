"""Read a table of somebody's PostgreSQL: one snapshot, read only, some rows at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from uuid import uuid4

from psycopg import AsyncConnection, Error, IsolationLevel, OperationalError, errors, sql
from psycopg.adapt import Buffer, Loader

from discreet.driver_errors import explain
from discreet.errors import ImportSourceError

PAGE = 200
"""Rows in memory; some have a megabyte."""


class _Undecoded(Loader):
    """Hand texts out as bytes: one that is no UTF-8, as databases without an encoding hold, must not end the run."""

    def load(self, data: Buffer) -> bytes:
        return bytes(data)


class PostgresTable:
    """A table, as it was when the snapshot was taken."""

    def __init__(self, connection: AsyncConnection[tuple[Any, ...]], table: sql.Identifier) -> None:
        self._connection = connection
        self._table = table

    async def count(self) -> int:
        """Return how many rows it has.

        Raises:
            ImportSourceError: It can't be read.
        """
        with source_errors():
            found = await self._connection.execute(sql.SQL("SELECT count(*) FROM {}").format(self._table))
            return int((await found.fetchone() or (0,))[0])

    async def rows(self, query: sql.SQL, params: Mapping[str, Any]) -> AsyncIterator[tuple[Any, ...]]:
        """Yield what `query` finds, which has `{table}` for the table; texts as bytes.

        Raises:
            ImportSourceError: It can't be read.
        """
        # A cursor of the server: one sort at most, whatever index the source has, and a page in memory.
        with source_errors():
            async with self._connection.cursor(name=f"discreet_{uuid4().hex}") as cursor:
                cursor.itersize = PAGE
                await cursor.execute(query.format(table=self._table), params)
                async for row in cursor:
                    yield row


@asynccontextmanager
async def open_table(dsn: str, table: str, *, schema: str | None = None) -> AsyncIterator[PostgresTable]:
    """Yield `table` of `schema`, else of the search path.

    The snapshot is kept until the end: the source's VACUUM waits that long.

    Raises:
        ImportSourceError: The database can't be reached.
    """
    with source_errors():
        # Prepared statements are lost behind a pooler.
        connection = await AsyncConnection.connect(dsn, prepare_threshold=None, client_encoding="UTF8")
    try:
        with source_errors():
            await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
            await connection.set_read_only(True)
            await connection.execute("SET LOCAL TIME ZONE 'UTC'")
            # What is stored between two pages can take long.
            await connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        for name in ("text", "varchar"):
            connection.adapters.register_loader(name, _Undecoded)
        yield PostgresTable(connection, sql.Identifier(*filter(None, (schema, table))))
    finally:
        await connection.close()


@contextmanager
def source_errors() -> Iterator[None]:
    """Raise `ImportSourceError` for what the source's driver raises. Not chained: it may quote a row, or the DSN."""
    try:
        yield
    except (errors.UndefinedTable, errors.UndefinedColumn):
        raise ImportSourceError(
            "The database has no such table, or it is another kind of table. Name the table and its schema."
        ) from None
    except errors.InsufficientPrivilege:
        raise ImportSourceError(
            "The role may not read the table. GRANT SELECT on it, and USAGE on its schema."
        ) from None
    except OperationalError as error:
        raise ImportSourceError(
            f"The source's database can't be reached, or refuses ({type(error).__name__}). Check the DSN after the kind of the import."
        ) from None
    except Error as error:
        raise ImportSourceError(f"The source can't be read. {explain(error)}") from None
