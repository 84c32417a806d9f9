"""One connection of the storage: says statements as its database wants them, and knows whether a pooler is in between."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, ClassVar, LiteralString, Self, cast

from pgvector.psycopg.bit import register_bit_info
from pgvector.psycopg.halfvec import register_halfvec_info
from pgvector.psycopg.sparsevec import register_sparsevec_info
from pgvector.psycopg.vector import register_vector_info
from psycopg import (
    AsyncConnection,
    AsyncCursor,
    AsyncServerCursor,
    AsyncTransaction,
    Error,
    IsolationLevel,
    OperationalError,
    Rollback,
    adapters,
)
from psycopg.abc import Params, Query
from psycopg.errors import CancellationTimeout, Diagnostic, lookup
from psycopg.pq import ConnStatus, PipelineStatus
from psycopg.rows import Row, dict_row
from psycopg.sql import Composable
from psycopg.types import TypeInfo

from discreet.access.actor import current_delegate
from discreet.errors import UnsupportedServerError
from discreet.leases import note_server_process
from discreet.row_security import SEES_EVERYBODY, names_nobody, tables_of
from discreet.storage.database.connecting.names import Names
from discreet.storage.database.connecting.row_security import Users, telling, telling_cluster, users_of
from discreet.storage.database.connecting.target import Target, target_of
from discreet.storage.database.connecting.times import UtcLoader

_LOOK: LiteralString = f"""
SELECT pg_backend_pid() AS process, n.nspname AS schema, t.typname AS name, t.oid, t.typarray AS array,
       pg_type_is_visible(t.oid) AS visible,
       row_security_active(u.oid) AS row_security,
       {SEES_EVERYBODY.format(table="u.oid")} AS sees_everybody,
       EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') AS cluster,
       (
           SELECT r.rolname::text FROM pg_policy p JOIN pg_roles r ON r.oid = ANY (p.polroles)
           WHERE p.polrelid = u.oid AND p.polname = 'several' AND pg_has_role(r.oid, 'MEMBER')
       ) AS several_role,
       ARRAY(
           SELECT c.relname::text FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
           WHERE c.relnamespace = u.relnamespace AND p.polname = 'app' AND row_security_active(c.oid)
       ) AS apart
FROM (VALUES (1)) AS one
LEFT JOIN pg_class u ON u.relname = 'users' AND u.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = %(schema)s)
LEFT JOIN pg_extension e ON e.extname = 'vector'
LEFT JOIN pg_namespace n ON n.oid = e.extnamespace
LEFT JOIN pg_type t ON t.typnamespace = e.extnamespace AND t.typname IN ('vector', 'halfvec', 'sparsevec')
"""
"""One round trip, and the same whatever search_path is: one row a type of pgvector, one of NULLs where it is not made."""

CANCEL_SECONDS = 1.0
"""How long a caller who has no time left waits for a server that hangs to take note of it; psycopg has it wait for ten seconds."""

_REGISTER = {"vector": register_vector_info, "halfvec": register_halfvec_info, "sparsevec": register_sparsevec_info}


class _StorageCursor(AsyncCursor[Row]):
    """Says every statement as the database of its connection wants it, and tells for whom it is."""

    async def execute(self, query: Query, params: Params | None = None, **options: Any) -> Self:
        said = _said(self, query)
        async with _connection_of(self).told(users_of(params), said):
            return await super().execute(said, params, **options)

    async def executemany(self, query: Query, params_seq: Iterable[Params], *, returning: bool = False) -> None:
        given = list(params_seq)
        users = {users for params in given if (users := users_of(params)) is not None}
        assert len(users) <= 1, "statements of several users go out one by one"
        said = _said(self, query)
        async with _connection_of(self).told(next(iter(users), None), said):
            await super().executemany(said, given, returning=returning)


class _StorageServerCursor(AsyncServerCursor[Row]):
    """Does the same for a statement whose rows stay on the server."""

    async def execute(self, query: Query, params: Params | None = None, **options: Any) -> Self:
        said = _said(self, query)
        async with _connection_of(self).told(users_of(params), said):
            pass  # it is no pipeline that DECLARE goes into: its transaction has been begun, and knows them now
        return await super().execute(said, params, **options)


def _connection_of(cursor: AsyncCursor[Any] | AsyncServerCursor[Any]) -> StorageConnection[Any]:
    return cast("StorageConnection[Any]", cursor.connection)


def _said(cursor: AsyncCursor[Any] | AsyncServerCursor[Any], query: Query) -> Any:
    if isinstance(query, Composable):
        query = query.as_bytes(cursor)
    return _connection_of(cursor).names.translate(query) if isinstance(query, (str, bytes)) else query


def _tables(statement: Any) -> frozenset[str]:
    text = statement.decode() if isinstance(statement, bytes) else statement
    return tables_of(text) if isinstance(text, str) else frozenset()


class StorageConnection(AsyncConnection[Row]):
    """A connection that knows its database, and remembers how the last attempt to make one went."""

    names: Names = Names()
    """How the database calls things."""

    row_security: bool = False
    """Whether policies apply to this role. It says for whom each statement is then, and copies nothing into tables of users."""

    sees_everybody: bool = True
    """Whether it may read and change the rows of all users."""

    is_cluster: bool = False
    """Whether it is the coordinator of a Citus cluster."""

    several_role: str | None = None
    """The role that may read rows of several users at once, of which this one is a member."""

    apart: frozenset[str] = frozenset()
    """Tables of which it is shown one user's rows at a time. Of nobody's there are none: what names nobody is refused here."""

    _depth: int = 0
    """How many transactions, one within the other, go on."""

    _told: Users | None = None
    """Of whom the transaction that goes on was told."""

    last_words: Error | None = None
    """Why the server or a pooler ended it, where nobody waited for an answer; libpq makes a notice of that."""

    failed: ClassVar[dict[str, Exception]] = {}
    """By connection string, why the last attempt failed; it is the server that is down, not a pool."""

    @classmethod
    async def connect(cls, conninfo: str = "", **options: Any) -> Self:
        """Connect, and remember how it went."""
        try:
            made = await super().connect(conninfo, **options)
        except OperationalError as error:
            cls.failed[conninfo] = error
            raise
        cls.failed.pop(conninfo, None)
        made.add_notice_handler(made._listen)  # noqa: SLF001  # its own class
        return made

    @property
    def is_lost(self) -> bool:
        """Whether the server or a pooler ended it, also if psycopg has not noticed yet."""
        return self.broken or self.last_words is not None

    def why_lost(self, error: Exception) -> Exception:
        """Return what to raise instead of `error`, which is what psycopg made of the loss of this connection.

        A pooler says FATAL after the server has, and where psycopg waits for one answer it takes two for a mistake: an
        InternalError at a COMMIT, a ProgrammingError before a COPY, a ValueError after it. In pipelines it only says that the
        connection ended.
        """
        found: BaseException | None = error
        while found is not None:
            if isinstance(found, Error) and found.sqlstate is not None:
                return found
            found = found.__context__
        if self.last_words is not None:
            return self.last_words
        return error if isinstance(error, OperationalError) else OperationalError("server conn crashed?")

    @asynccontextmanager
    async def transaction(
        self,
        savepoint_name: str | None = None,
        force_rollback: bool = False,  # psycopg's signature
    ) -> AsyncIterator[AsyncTransaction]:
        """Begin a transaction, or a savepoint of one: what was told in it ends with it."""
        self._depth += 1
        try:
            async with super().transaction(savepoint_name, force_rollback) as begun:
                yield begun
        finally:
            self._depth -= 1
            self._told = None

    @asynccontextmanager
    async def pipelined(self) -> AsyncIterator[None]:
        """Begin a transaction whose statements wait for each other's answers only where somebody reads one: often two round trips.

        Neither COPY nor `rowcount` can be used in it. `Rollback` undoes it as in `transaction`.
        """
        self._depth += 1
        try:
            async with self.pipeline():
                await AsyncCursor(self).execute("BEGIN ISOLATION LEVEL READ COMMITTED")
                yield
                await AsyncCursor(self).execute("COMMIT")
        except BaseException as error:
            if self.pgconn.status == ConnStatus.OK:
                await self.rollback()
            if not isinstance(error, Rollback):
                raise
        finally:
            self._depth -= 1
            self._told = None

    @asynccontextmanager
    async def told(self, users: Users | None, statement: Any) -> AsyncIterator[None]:
        """Have the database know that the `statement` that the block executes is for `users`, in one round trip with it.

        Raises:
            StorageError: It is about users' rows, and names nobody.
        """
        if users is None and self._told is None and self.apart & _tables(statement):
            raise names_nobody("user")
        if not self.row_security or users is None or users == self._told:
            yield
            return
        before = self._told
        if self._depth and self.pgconn.pipeline_status != PipelineStatus.OFF:
            await self._tell(users, before)
            yield
            self._told = users
        elif self._depth:
            async with self.pipeline():
                await self._tell(users, before)
                yield
            self._told = users
        elif self.is_cluster:
            async with self.pipeline(), self.transaction():
                await self._tell(users, before)
                yield
        else:
            async with self.pipeline():  # without a transaction of its own it is one by itself
                await self._tell(users, before)
                yield

    async def _tell(self, users: Users, before: Users | None) -> None:
        delegate = current_delegate()
        if self.is_cluster:
            messages = telling_cluster(users, before, self.several_role, delegate)
        else:
            messages = [telling(users, before, self.several_role, delegate)]
        for message in messages:
            query = self.names.translate(message.query) if isinstance(message.query, str) else message.query
            await AsyncCursor(self).execute(query, message.params)

    def _listen(self, notice: Diagnostic) -> None:
        """Remember why it ends: the first says it, a pooler's follows."""
        if notice.severity_nonlocalized == "FATAL" and notice.sqlstate is not None and self.last_words is None:
            self.last_words = _error_of(notice.sqlstate, notice.message_primary or "")

    async def cancel_safe(self, *, timeout: float = 30.0) -> None:
        """Ask the server to give up its work for a caller who has. One that doesn't hear is left alone: the connection is closed."""
        try:
            await super().cancel_safe(timeout=min(timeout, CANCEL_SECONDS))
        except CancellationTimeout:
            self.pgconn.finish()
            raise

    async def look(self, target: Target) -> None:
        """Look who is there: a pooler or the server, and where pgvector is.

        To be called again after the extension was made.

        Raises:
            UnsupportedServerError: pgvector is in a schema whose name can't be written into statements.
        """
        cursor = AsyncCursor(self, row_factory=dict_row)
        rows = await (await cursor.execute(_LOOK, {"schema": target.schema}, prepare=False)).fetchall()
        pooled = note_server_process(self, rows[0]["process"], target.pooler)
        await self.set_isolation_level(IsolationLevel.READ_COMMITTED)  # of transactions, whatever the role says
        types_found = [row for row in rows if row["oid"] is not None]
        for row in types_found:
            _REGISTER[row["name"]](self, TypeInfo(row["name"], row["oid"], row["array"]))
        if types_found:
            register_bit_info(self, adapters.types["bit"])
        if self.info.timezone.utcoffset(None) != timedelta(0):
            self.adapters.register_loader("timestamptz", UtcLoader)
        # Behind a pooler search_path may be one that another client has set.
        apart = types_found and (pooled or not all(row["visible"] for row in types_found))
        self.names = Names(target.schema, _plain(rows[0]["schema"]) if apart else None)
        self.row_security = bool(rows[0]["row_security"])
        self.sees_everybody = not self.row_security or rows[0]["sees_everybody"]
        self.is_cluster = rows[0]["cluster"]
        self.apart = frozenset() if self.sees_everybody else frozenset(rows[0]["apart"])
        self.several_role = None if self.sees_everybody else rows[0]["several_role"]
        if self.names != Names() or self.row_security:
            self.cursor_factory, self.server_cursor_factory = _StorageCursor, _StorageServerCursor


def _error_of(state: str, message: str) -> Error:
    try:
        return lookup(state)(message)
    except KeyError:  # one that psycopg doesn't know
        return OperationalError(message)


async def connect(dsn: str | Target) -> StorageConnection[Any]:
    """Open one connection of its own, in autocommit, with rows as tuples."""
    target = target_of(dsn)
    conn = await StorageConnection.connect(target.conninfo, autocommit=True, **await target.options())
    try:
        await conn.look(target)
    except BaseException:
        await conn.close()
        raise
    return conn


def _plain(name: str) -> str:
    if re.search("[\"'%]", name):
        raise UnsupportedServerError(
            "pgvector is in a schema with a quotation mark or % in its name. Move it to another."
        )
    return name
