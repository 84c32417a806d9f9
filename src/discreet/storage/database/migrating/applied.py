"""What a database has of the migrations. Reading it takes no lock and changes nothing, so a standby will do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any, Final, LiteralString, NamedTuple

from psycopg import AsyncConnection
from psycopg.errors import InsufficientPrivilege
from psycopg.rows import class_row, scalar_row

from discreet.errors import MigrationError, NewerDatabaseError
from discreet.storage.database.migrating.migration_files import Migration

_HAS_MIGRATIONS: Final[LiteralString] = "SELECT to_regclass('discreet.migrations') IS NOT NULL"
_APPLIED: Final[LiteralString] = "SELECT name, checksum, version FROM discreet.migrations ORDER BY name"
_READ_ONLY: Final[LiteralString] = "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean"
_PRIMARY: Final[LiteralString] = "SELECT sender_host || ':' || sender_port FROM pg_stat_wal_receiver"
"""Empty on a primary, and NULL for a role that may not see it (PostgreSQL docs, "pg_stat_wal_receiver")."""


class Applied(NamedTuple):
    """A row of discreet.migrations."""

    name: str
    checksum: str
    version: str
    """Version of Discreet that applied it."""


@dataclass(frozen=True)
class SchemaState:
    """How a database's schema compares with the one that this version needs."""

    pending: Sequence[Migration]
    """What is not applied, in its order."""
    unknown: Sequence[Applied]
    """What was applied and is not known here."""
    changed: Sequence[str]
    """Names of what was applied and has another checksum here."""

    def check(self) -> None:
        """Refuse a schema that this version can't bring up to date.

        Raises:
            NewerDatabaseError: It has migrations that this version does not know.
            MigrationError: A released file was changed after it had been applied.
        """
        if self.unknown:
            raise NewerDatabaseError([row.name for row in self.unknown], self.unknown[-1].version, this_version())
        if self.changed:
            raise MigrationError(
                f"Migration {self.changed[0]} was changed after it had been applied to this database. "
                "Restore the released file and put the change into a new migration."
            )


@cache
def this_version() -> str:
    """Return the version of this package."""
    return version("discreet")


async def schema_state(conn: AsyncConnection[Any], migrations: Sequence[Migration]) -> SchemaState:
    """Return how the database compares with `migrations`.

    Raises:
        MigrationError: This role may not read what was applied.
    """
    applied = {row.name: row for row in await _applied(conn)}
    known = {migration.name: migration for migration in migrations}
    return SchemaState(
        pending=[migration for migration in migrations if migration.name not in applied],
        unknown=[row for row in applied.values() if row.name not in known],
        changed=[
            row.name for row in applied.values() if row.name in known and row.checksum != known[row.name].checksum
        ],
    )


async def check_writable(conn: AsyncConnection[Any], pending: Sequence[Migration]) -> None:
    """Refuse a server that `pending` can't be applied on.

    Raises:
        MigrationError: It is a standby, or read-only by its settings.
    """
    if await _value(conn, _READ_ONLY):
        raise read_only(pending, await _value(conn, _PRIMARY))


def read_only(pending: Sequence[Migration], primary: object = None) -> MigrationError:
    """Return what to tell whoever starts on a server that can't be written to."""
    where = f"the primary ({primary})" if primary else "the primary"
    return MigrationError(
        f"This database lacks {_names(pending)}, and the server takes no writes: it is a standby, or read-only by "
        f"default_transaction_read_only. Run `discreet migrate` on {where}; a standby follows by itself."
    )


def refused(pending: Sequence[Migration]) -> MigrationError:
    """Return what to tell a role that may not apply `pending`."""
    return MigrationError(
        f"This database lacks {_names(pending)}, and this role may not apply that. Have the owner of the database run "
        "`discreet migrate`, and GRANT this role USAGE ON SCHEMA discreet; SELECT, INSERT, UPDATE, DELETE ON ALL TABLES and "
        "USAGE ON ALL SEQUENCES IN SCHEMA discreet. From then on a start changes nothing."
    )


async def _applied(conn: AsyncConnection[Any]) -> Sequence[Applied]:
    try:
        if not await _value(conn, _HAS_MIGRATIONS):
            return []
        async with conn.cursor(row_factory=class_row(Applied)) as cursor:
            return await (await cursor.execute(_APPLIED)).fetchall()
    except InsufficientPrivilege:
        raise MigrationError(
            "This role may not read discreet.migrations. Have the owner of its tables GRANT it USAGE ON SCHEMA discreet and "
            "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA discreet."
        ) from None


async def _value(conn: AsyncConnection[Any], query: LiteralString) -> object:
    async with conn.cursor(row_factory=scalar_row) as cursor:
        return await (await cursor.execute(query)).fetchone()


def _names(pending: Sequence[Migration]) -> str:
    return ", ".join(migration.name for migration in pending)
