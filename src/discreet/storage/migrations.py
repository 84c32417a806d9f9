"""Bring a database's schema up to date, also when many processes start at the same moment."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from importlib import resources
from typing import LiteralString

from psycopg import AsyncConnection, Error, OperationalError
from psycopg.errors import InsufficientPrivilege
from psycopg.rows import TupleRow

from discreet.driver_errors import storage_errors
from discreet.errors import MigrationError
from discreet.storage.server import check_server, connect, show_vector_types

LOCK_SECONDS = 60.0
"""How long one process waits for another that is migrating. An empty database takes 0.1 s."""

_POLL_SECONDS = 0.05

_TRY_LOCK = "SELECT pg_try_advisory_xact_lock(hashtextextended('discreet.migrations', 0))"
"""Tried again and again rather than waited for: a session that waits holds a snapshot, and CREATE INDEX CONCURRENTLY
in the session with the lock would wait for that snapshot. The transaction's form also works behind a pooler."""

_HAS_MIGRATIONS = "SELECT to_regclass('discreet.migrations') IS NOT NULL"
_APPLIED = "SELECT name, checksum FROM discreet.migrations"
_RECORD = "INSERT INTO discreet.migrations (name, checksum) VALUES (%s, %s)"
_HAS_VECTOR = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'vector')"


@dataclass(frozen=True)
class Migration:
    """One numbered SQL file."""

    name: str
    """File name without its extension; files apply in the order of names."""
    sql: str
    """Statements, run in one transaction."""

    @property
    def checksum(self) -> str:
        """SHA-256 of the file, in hex."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def released() -> list[Migration]:
    """Return the migrations of this version, in their order."""
    folder = resources.files("discreet.storage.sql.migrations")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return [Migration(file.name.removesuffix(".sql"), file.read_text("utf-8")) for file in files]


async def migrate(dsn: str, *, lock_seconds: float = LOCK_SECONDS) -> list[str]:
    """Apply what is missing, each migration in one transaction; return the names applied, in their order.

    `dsn` should reach the server directly or through a pooler in session mode.

    Raises:
        StorageUnavailableError: The server can't be reached.
        UnsupportedServerError: PostgreSQL or pgvector is too old or missing.
        MigrationError: Another process held the lock too long, a released file was changed, or a right is missing.
    """
    migrations = released()
    applied: list[str] = []
    with storage_errors():
        async with await connect(dsn) as conn:
            await check_server(conn)
            while (name := await _apply_next(conn, migrations, lock_seconds)) is not None:
                applied.append(name)
    return applied


async def unapplied(conn: AsyncConnection[TupleRow]) -> list[str]:
    """Return the names of the migrations that this database lacks, in their order; nothing is changed.

    Raises:
        MigrationError: A released file was changed after it had been applied.
    """
    migrations, applied = released(), await _applied(conn)
    _pending([migration for migration in migrations if migration.name in applied], applied)
    return [migration.name for migration in migrations if migration.name not in applied]


async def _apply_next(conn: AsyncConnection[TupleRow], migrations: list[Migration], lock_seconds: float) -> str | None:
    """Apply the first missing migration; None when there is none."""
    deadline = asyncio.get_running_loop().time() + lock_seconds
    while True:
        async with conn.transaction():
            if await _value(conn, _TRY_LOCK):
                await _create_vector(conn)
                migration = _pending(migrations, await _applied(conn))
                if migration is not None:
                    await _apply(conn, migration)
                return None if migration is None else migration.name
        if asyncio.get_running_loop().time() > deadline:
            raise MigrationError(
                f"Another process has been migrating this database for over {lock_seconds:g} s. "
                "Wait for it, or end its session in pg_stat_activity, then start again."
            )
        await asyncio.sleep(_POLL_SECONDS)


async def _apply(conn: AsyncConnection[TupleRow], migration: Migration) -> None:
    try:
        await conn.execute(migration.sql)
        await conn.execute(_RECORD, (migration.name, migration.checksum))
    except OperationalError:
        raise
    except Error as error:
        raise MigrationError(
            f"Migration {migration.name} failed (SQLSTATE {error.sqlstate}); it changed nothing. "
            "The server's log has the statement."
        ) from None


def _pending(migrations: list[Migration], applied: dict[str, str]) -> Migration | None:
    """Return the first migration that is not in `applied` (checksums by name)."""
    for migration in migrations:
        if migration.name not in applied:
            return migration
        if applied[migration.name] != migration.checksum:
            raise MigrationError(
                f"Migration {migration.name} was changed after it had been applied to this database. "
                "Restore the released file and put the change into a new migration."
            )
    return None


async def _applied(conn: AsyncConnection[TupleRow]) -> dict[str, str]:
    if not await _value(conn, _HAS_MIGRATIONS):
        return {}
    return dict(await (await conn.execute(_APPLIED)).fetchall())


async def _create_vector(conn: AsyncConnection[TupleRow]) -> None:
    if not await _value(conn, _HAS_VECTOR):
        try:
            async with conn.transaction():
                await conn.execute("CREATE EXTENSION vector")
        except InsufficientPrivilege:
            raise MigrationError(
                "This role may not create the extension pgvector. Have an administrator run "
                "CREATE EXTENSION vector in this database once, then start again."
            ) from None
    await show_vector_types(conn)


async def _value(conn: AsyncConnection[TupleRow], query: LiteralString) -> object:
    row = await (await conn.execute(query)).fetchone()
    return row and row[0]
