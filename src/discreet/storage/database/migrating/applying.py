"""Apply one migration: beside those who read its tables, and again where it was broken off."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, LiteralString

from psycopg import AsyncConnection, Error, OperationalError, sql
from psycopg.errors import InsufficientPrivilege, QueryCanceled, ReadOnlySqlTransaction, TransactionTimeout
from psycopg.rows import scalar_row
from tenacity import AsyncRetrying

from discreet.errors import MigrationError
from discreet.locks import PATIENCE, lock_retries
from discreet.storage.database.connecting.connection import StorageConnection
from discreet.storage.database.migrating.applied import read_only, refused, this_version
from discreet.storage.database.migrating.migration_files import Migration, built_index

_RECORD: Final[LiteralString] = "INSERT INTO discreet.migrations (name, checksum, version) VALUES (%s, %s, %s)"
_HAS_VECTOR: Final[LiteralString] = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'vector')"
_HAS_SCHEMA: Final[LiteralString] = "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = %s)"
_IS_VALID = sql.SQL("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass({})")


async def create_schema(conn: StorageConnection[Any]) -> None:
    """Create the schema of the tables unless it is there: an administrator may have made it for a role that may not.

    Raises:
        MigrationError: This role may not.
    """
    schema = conn.names.schema
    async with conn.cursor(row_factory=scalar_row) as cursor:
        if await (await cursor.execute(_HAS_SCHEMA, (schema,))).fetchone():
            return
    try:
        await conn.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
    except InsufficientPrivilege:
        raise MigrationError(
            f'This role may not create a schema in this database. Have an administrator run CREATE SCHEMA "{schema}" '
            "AUTHORIZATION this role once, then start again."
        ) from None


async def create_vector(conn: AsyncConnection[Any]) -> None:
    """Create the extension pgvector unless it is there.

    Raises:
        MigrationError: This role may not.
    """
    async with conn.cursor(row_factory=scalar_row) as cursor:
        if await (await cursor.execute(_HAS_VECTOR)).fetchone():
            return
    try:
        await conn.execute("CREATE EXTENSION vector")
    except InsufficientPrivilege:
        raise MigrationError(
            "This role may not create the extension pgvector. Have an administrator run "
            "CREATE EXTENSION vector in this database once, then start again."
        ) from None


async def apply(conn: AsyncConnection[Any], migration: Migration, *, lock_seconds: float) -> None:
    """Apply `migration` and record it; where others use its tables, in several attempts within `lock_seconds`.

    Raises:
        MigrationError: Its tables stayed locked, PostgreSQL refused it, or this role may not.
    """
    work = _in_transaction if migration.in_transaction else _one_by_one
    try:
        await AsyncRetrying(**lock_retries(f"The tables of migration {migration.name}", lock_seconds))(
            partial(work, conn, migration)
        )
    except Error as error:
        raise _failure(migration, error) from None


async def _in_transaction(conn: AsyncConnection[Any], migration: Migration) -> None:
    async with conn.transaction():
        await conn.execute(PATIENCE)
        await conn.execute(migration.sql)
        await _record(conn, migration)


async def _one_by_one(conn: AsyncConnection[Any], migration: Migration) -> None:
    for statement in migration.statements:
        index = built_index(statement)
        if index is not None:
            await _drop_broken(conn, index)
        await conn.execute(statement)
    await _record(conn, migration)


async def _record(conn: AsyncConnection[Any], migration: Migration) -> None:
    await conn.execute(_RECORD, (migration.name, migration.checksum, this_version()))


async def _drop_broken(conn: AsyncConnection[Any], index: str) -> None:
    """Drop what a CREATE INDEX CONCURRENTLY that was broken off has left: it costs writers, serves nobody, and is in the way.

    If the server still builds it for a process that is gone, this waits until that is done.
    """
    async with conn.cursor(row_factory=scalar_row) as cursor:
        valid = await (await cursor.execute(_IS_VALID.format(index))).fetchone()
    if valid is False:
        schema, _, name = index.rpartition(".")
        await conn.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}.{}").format(sql.SQL(schema), sql.SQL(name)))


def _failure(migration: Migration, error: Error) -> Error | MigrationError:
    """Return what to raise instead of `error`. A connection that was lost stays what it is."""
    if isinstance(error, InsufficientPrivilege):
        return refused([migration])
    if isinstance(error, ReadOnlySqlTransaction):
        return read_only([migration])
    if isinstance(error, (QueryCanceled, TransactionTimeout)):
        return MigrationError(
            f"Migration {migration.name} was cancelled. If that was the statement_timeout or transaction_timeout of this role, run "
            "`discreet migrate` as one without (ALTER ROLE … SET statement_timeout = 0); the next run goes on."
        )
    if isinstance(error, OperationalError):
        return error
    kept = (
        "it changed nothing" if migration.in_transaction else "what it did before that stays, and the next run goes on"
    )
    return MigrationError(
        f"Migration {migration.name} failed (SQLSTATE {error.sqlstate}); {kept}. The server's log has the statement."
    )
