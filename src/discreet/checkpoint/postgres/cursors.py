"""Cursors that find our tables: statements name them bare, and go out with their schema. The one place that does so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from psycopg import AsyncConnection, AsyncCursor, Connection, Cursor
from psycopg.pq import Format
from psycopg.rows import dict_row

from discreet.checkpoint.postgres.names import IN_SIGHT, Tables, qualify, with_schema
from discreet.checkpoint.postgres.routing import route


class AsyncTableCursor(AsyncCursor[Any]):
    """A cursor in the schema of our tables."""

    def __init__(self, conn: AsyncConnection[Any], schema: str, *, row_factory: Any = dict_row) -> None:
        """Work on `conn`, whatever it makes of rows itself."""
        super().__init__(conn, row_factory=row_factory)
        self.format = Format.BINARY
        self.schema = schema

    async def execute(  # type: ignore[override]  # no template strings
        self, query: str, params: Any = None, *, prepare: bool | None = None, binary: bool | None = None
    ) -> Self:
        """Execute `query` on our tables."""
        routed, given = route(query, with_schema(params, self.schema))
        return await super().execute(qualify(routed, self.schema), given, prepare=prepare, binary=binary)

    async def executemany(  # type: ignore[override]  # no template strings
        self, query: str, params_seq: Iterable[Any], *, returning: bool = False
    ) -> None:
        """Execute `query` on our tables with each of `params_seq`."""
        await super().executemany(qualify(query, self.schema), params_seq, returning=returning)


class TableCursor(Cursor[Any]):
    """`AsyncTableCursor` for threads."""

    def __init__(self, conn: Connection[Any], schema: str, *, row_factory: Any = dict_row) -> None:
        """Work on `conn`, whatever it makes of rows itself."""
        super().__init__(conn, row_factory=row_factory)
        self.format = Format.BINARY
        self.schema = schema

    def execute(  # type: ignore[override]  # no template strings
        self, query: str, params: Any = None, *, prepare: bool | None = None, binary: bool | None = None
    ) -> Self:
        """Execute `query` on our tables."""
        routed, given = route(query, with_schema(params, self.schema))
        return super().execute(qualify(routed, self.schema), given, prepare=prepare, binary=binary)

    def executemany(  # type: ignore[override]  # no template strings
        self, query: str, params_seq: Iterable[Any], *, returning: bool = False
    ) -> None:
        """Execute `query` on our tables with each of `params_seq`."""
        super().executemany(qualify(query, self.schema), params_seq, returning=returning)


async def table_cursor(conn: AsyncConnection[Any], tables: Tables, *, row_factory: Any = dict_row) -> AsyncTableCursor:
    """Return a cursor in the schema of `tables`; the database is asked which, until it has them.

    Raises:
        ConfigurationError: There is more than one set of tables in sight, or no schema at all.
    """
    schema = tables.schema
    if schema is None:
        async with conn.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(IN_SIGHT, prepare=False)
            schema = tables.choose(await cursor.fetchall())
        if not conn.autocommit:
            await conn.rollback()  # what comes may have to begin the transaction itself
    return AsyncTableCursor(conn, schema, row_factory=row_factory)


def sync_table_cursor(conn: Connection[Any], tables: Tables, *, row_factory: Any = dict_row) -> TableCursor:
    """Do what `table_cursor` does, blocking."""
    schema = tables.schema
    if schema is None:
        with conn.cursor(row_factory=dict_row) as cursor:
            schema = tables.choose(cursor.execute(IN_SIGHT, prepare=False).fetchall())
        if not conn.autocommit:
            conn.rollback()
    return TableCursor(conn, schema, row_factory=row_factory)
