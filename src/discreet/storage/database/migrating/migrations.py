"""Bring a database's schema up to date, also when many processes start at the same moment."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from psycopg import AsyncConnection

from discreet.driver_errors import storage_errors
from discreet.locks import TIMEOUT_SECONDS, setup_lock
from discreet.storage.database.connecting.connection import StorageConnection, connect
from discreet.storage.database.connecting.server import check_server
from discreet.storage.database.connecting.target import Target, target_of
from discreet.storage.database.migrating.applied import SchemaState, check_writable, schema_state
from discreet.storage.database.migrating.applying import apply, create_schema, create_vector
from discreet.storage.database.migrating.migration_files import Migration, released

__all__ = ["Migration", "migrate", "migration_state", "released"]


async def migrate(
    dsn: str | Target, *, lock_seconds: float = TIMEOUT_SECONDS, report: Callable[[str], None] | None = None
) -> list[str]:
    """Apply what is missing; return the names applied, in their order, of which each was told to `report` when it was done.

    Where nothing is missing it takes no lock, and a role that owns nothing may call it, on a standby too. Else it needs two
    connections for a moment, behind a pooler two of its connections to the server.

    `lock_seconds`: how long to wait for another process that is at it, and for each migration's locks.

    Raises:
        StorageUnavailableError: The server can't be reached.
        UnsupportedServerError: PostgreSQL or pgvector is too old or missing.
        NewerDatabaseError: A newer version has migrated it; nothing is done.
        MigrationError: Another process held the lock too long, others the tables, a released file was changed, a right is
            missing, or the server takes no writes. What was applied before stays.
    """
    migrations, applied = released(), list[str]()
    target = target_of(dsn)
    with storage_errors():
        async with _own_connection(target) as conn:
            await check_server(conn)
            pending = await _pending(conn, migrations)
            if not pending:
                return applied
            await check_writable(conn, pending)
            async with _own_connection(target) as holder, setup_lock(holder, lock_seconds):
                await create_vector(conn)
                await create_schema(conn)
                await conn.look(target)
                for migration in await _pending(conn, migrations):
                    await apply(conn, migration, lock_seconds=lock_seconds)
                    applied.append(migration.name)
                    if report:
                        report(migration.name)
    return applied


async def migration_state(conn: AsyncConnection[Any]) -> SchemaState:
    """Return how the database compares with what this version needs; nothing is changed."""
    return await schema_state(conn, released())


async def _pending(conn: AsyncConnection[Any], migrations: list[Migration]) -> list[Migration]:
    state = await schema_state(conn, migrations)
    state.check()
    return list(state.pending)


@asynccontextmanager
async def _own_connection(target: Target) -> AsyncIterator[StorageConnection[Any]]:
    async with await connect(target) as conn:
        conn.prepare_threshold = None  # there may be a pooler in between
        yield conn
