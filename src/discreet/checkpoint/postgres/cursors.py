"""Cursors that find our tables: statements name them bare, and go out with their schema. The one place that does so."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Self

from psycopg import AsyncConnection, AsyncCursor, Connection, Cursor
from psycopg.pq import Format, TransactionStatus
from psycopg.rows import dict_row
from psycopg.sql import SQL, Literal

from discreet.checkpoint.postgres.names import IN_SIGHT, RowSecurity, Tables, qualify, with_schema
from discreet.checkpoint.postgres.routing import route
from discreet.checkpoint.postgres.row_security import IS_IN_FORCE, NAME_THREAD, by_function, named_by
from discreet.row_security import HAND_ON


class AsyncTableCursor(AsyncCursor[Any]):
    """A cursor in the schema of our tables."""

    def __init__(
        self, conn: AsyncConnection[Any], schema: str, *, row_factory: Any = dict_row, row_security: RowSecurity = "off"
    ) -> None:
        """Work on `conn`, whatever it makes of rows itself."""
        super().__init__(conn, row_factory=row_factory)
        self.format = Format.BINARY
        self.schema = schema
        self._row_security = row_security

    @property
    def is_apart(self) -> bool:
        """Whether the database shows this role the rows of one thread at a time."""
        return self._row_security != "off"

    async def execute(  # type: ignore[override]  # no template strings
        self, query: str, params: Any = None, *, prepare: bool | None = None, binary: bool | None = None
    ) -> Self:
        """Execute `query` on our tables."""
        seen = by_function(query) if self.is_apart else query
        routed, given = route(seen, with_schema(params, self.schema))
        async with self._told(query, params):
            return await super().execute(qualify(routed, self.schema), given, prepare=prepare, binary=binary)

    async def executemany(  # type: ignore[override]  # no template strings
        self, query: str, params_seq: Iterable[Any], *, returning: bool = False
    ) -> None:
        """Execute `query` on our tables with each of `params_seq`, which are about one thread."""
        given = list(params_seq)
        if given:
            async with self._told(query, given[0]):
                await super().executemany(qualify(query, self.schema), given, returning=returning)

    @asynccontextmanager
    async def _told(self, query: str, params: Any) -> AsyncIterator[None]:
        """Have the database know whose thread the block is about, in one round trip with what it executes."""
        thread = named_by(query, params) if self.is_apart else None
        if thread is None:
            yield
        elif self._row_security == "on":
            async with self.connection.pipeline():
                await AsyncCursor(self.connection).execute(NAME_THREAD, (thread,))
                yield
        else:
            async with self.connection.pipeline(), self.connection.transaction():
                await AsyncCursor(self.connection).execute(HAND_ON)
                await AsyncCursor(self.connection).execute(
                    SQL("SET LOCAL discreet.thread = {}").format(Literal(thread))
                )
                yield


class TableCursor(Cursor[Any]):
    """`AsyncTableCursor` for threads."""

    def __init__(
        self, conn: Connection[Any], schema: str, *, row_factory: Any = dict_row, row_security: RowSecurity = "off"
    ) -> None:
        """Work on `conn`, whatever it makes of rows itself."""
        super().__init__(conn, row_factory=row_factory)
        self.format = Format.BINARY
        self.schema = schema
        self._row_security = row_security

    @property
    def is_apart(self) -> bool:
        """Whether the database shows this role the rows of one thread at a time."""
        return self._row_security != "off"

    def execute(  # type: ignore[override]  # no template strings
        self, query: str, params: Any = None, *, prepare: bool | None = None, binary: bool | None = None
    ) -> Self:
        """Execute `query` on our tables."""
        seen = by_function(query) if self.is_apart else query
        routed, given = route(seen, with_schema(params, self.schema))
        with self._told(query, params):
            return super().execute(qualify(routed, self.schema), given, prepare=prepare, binary=binary)

    def executemany(  # type: ignore[override]  # no template strings
        self, query: str, params_seq: Iterable[Any], *, returning: bool = False
    ) -> None:
        """Execute `query` on our tables with each of `params_seq`, which are about one thread."""
        given = list(params_seq)
        if given:
            with self._told(query, given[0]):
                super().executemany(qualify(query, self.schema), given, returning=returning)

    @contextmanager
    def _told(self, query: str, params: Any) -> Iterator[None]:
        """Have the database know whose thread the block is about, in one round trip with what it executes."""
        thread = named_by(query, params) if self.is_apart else None
        if thread is None:
            yield
        elif self._row_security == "on":
            with self.connection.pipeline():
                Cursor(self.connection).execute(NAME_THREAD, (thread,))
                yield
        else:
            with self.connection.pipeline(), self.connection.transaction():
                Cursor(self.connection).execute(HAND_ON)
                Cursor(self.connection).execute(SQL("SET LOCAL discreet.thread = {}").format(Literal(thread)))
                yield


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
    row_security = tables.row_security
    if row_security is None:
        begun = conn.info.transaction_status != TransactionStatus.IDLE
        async with conn.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(IS_IN_FORCE, {"schema": schema}, prepare=False)
            row_security = tables.note_row_security(await cursor.fetchone())
        if not conn.autocommit and not begun:
            await conn.rollback()
    return AsyncTableCursor(conn, schema, row_factory=row_factory, row_security=row_security)


def sync_table_cursor(conn: Connection[Any], tables: Tables, *, row_factory: Any = dict_row) -> TableCursor:
    """Do what `table_cursor` does, blocking."""
    schema = tables.schema
    if schema is None:
        with conn.cursor(row_factory=dict_row) as cursor:
            schema = tables.choose(cursor.execute(IN_SIGHT, prepare=False).fetchall())
        if not conn.autocommit:
            conn.rollback()
    row_security = tables.row_security
    if row_security is None:
        begun = conn.info.transaction_status != TransactionStatus.IDLE
        with conn.cursor(row_factory=dict_row) as cursor:
            found = cursor.execute(IS_IN_FORCE, {"schema": schema}, prepare=False).fetchone()
            row_security = tables.note_row_security(found)
        if not conn.autocommit and not begun:
            conn.rollback()
    return TableCursor(conn, schema, row_factory=row_factory, row_security=row_security)
