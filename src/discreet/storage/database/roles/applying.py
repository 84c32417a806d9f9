"""Make the roles and the policies of a database, or say what would."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg import AsyncConnection
from psycopg.errors import Error, InsufficientPrivilege, OperationalError
from psycopg.rows import dict_row
from psycopg.sql import SQL, Identifier, Literal
from tenacity import AsyncRetrying

from discreet.driver_errors import storage_errors
from discreet.errors import MigrationError
from discreet.locks import PATIENCE, lock_retries
from discreet.storage.database.connecting.connection import StorageConnection, connect
from discreet.storage.database.connecting.target import Target
from discreet.storage.database.roles.names import APP_SUFFIX, RoleNames
from discreet.storage.database.roles.policies import Step, fingerprint, leakproof, steps
from discreet.storage.database.roles.tables import Database, Table

_TABLES: LiteralString = """
SELECT n.nspname::text AS schema, c.relname::text AS name, pg_get_userbyid(c.relowner)::text AS owner,
    EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'user_key' AND NOT a.attisdropped) AS of_users
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND (
    n.nspname = %(schema)s
    OR c.relname ~ '^checkpoint(s$|_)' AND EXISTS (
        SELECT FROM pg_class t WHERE t.relnamespace = n.oid AND t.relname = 'checkpoint_threads'
    )
) AND NOT c.relispartition
  AND c.oid NOT IN (SELECT inhrelid FROM pg_inherits)
ORDER BY 1, 2
"""

_ROLES: LiteralString = """
SELECT array_agg(rolname::text) AS roles, coalesce(array_agg(rolname::text) FILTER (WHERE rolsuper), '{}') AS superusers,
    bool_or(rolsuper AND rolname = current_user) AS is_superuser
FROM pg_roles
"""

_APPLIED: LiteralString = """
SELECT obj_description(p.oid, 'pg_policy') AS applied
FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = 'users' AND p.polname = 'app'
"""

_NAMED: LiteralString = """
SELECT r.rolname::text AS role
FROM pg_policy p
JOIN pg_class c ON c.oid = p.polrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_roles r ON r.oid = ANY (p.polroles)
WHERE n.nspname = %(schema)s AND c.relname = 'users' AND p.polname = 'app'
"""


@dataclass(frozen=True, kw_only=True)
class RolesApplied:
    """What was done."""

    steps: Sequence[str]
    """By name; none where everything was as it is to be."""
    needs_superuser: Sequence[str]
    """Statements that a superuser has to run, for whom words of users with many memories are to be found by their index."""


async def role_statements(target: Target, *, names: RoleNames | None = None) -> list[str]:
    """Return the SQL that `apply_roles` would run in this database.

    Raises:
        StorageError: The database failed.
        MigrationError: It has no tables yet.
    """
    with storage_errors():
        async with await connect(target) as conn:
            there = await _look(conn, target)
            return [
                statement.as_string(conn).strip()
                for step in steps(there, names or RoleNames())
                for statement in step.statements
            ]


async def apply_roles(
    target: Target, *, names: RoleNames | None = None, report: Callable[[str], None] = lambda _: None
) -> RolesApplied:
    """Make roles and policies, each table's in a transaction; nothing where they are there already.

    `target` names a role that owns the tables and may make roles (CREATEROLE, or a superuser).

    Raises:
        MigrationError: It may not, there are no tables yet, or others keep one locked.
        StorageError: The database failed. What was done before stays, and doing it again goes on.
    """
    names = names or RoleNames()
    with storage_errors():
        async with await connect(target) as conn:
            there = await _look(conn, target)
            planned = list(steps(there, names))
            if await _applied(conn, target) == fingerprint(planned):
                return RolesApplied(steps=(), needs_superuser=_left(there))
            for step in planned:
                await _take(conn, step)
                report(step.what)
            await conn.execute(
                SQL("COMMENT ON POLICY app ON {} IS {}").format(
                    Identifier(target.schema, "users"), Literal(fingerprint(planned))
                )
            )
    return RolesApplied(steps=[step.what for step in planned], needs_superuser=_left(there))


async def _take(conn: StorageConnection[Any], step: Step) -> None:
    async def run() -> None:
        async with conn.transaction():
            await conn.execute(PATIENCE)
            if conn.is_cluster:
                await conn.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
            for statement in step.statements:
                await conn.execute(statement)

    try:
        await AsyncRetrying(**lock_retries(f"What {step.what} are about"))(run)
    except InsufficientPrivilege:
        raise MigrationError(
            f"This role may not make the {step.what}. Run `discreet roles --apply` as a role that owns the tables and has CREATEROLE, or "
            "have an administrator run what `discreet roles --print` shows."
        ) from None
    except OperationalError:
        raise
    except Error as error:
        raise MigrationError(f"PostgreSQL refused the {step.what} (SQLSTATE {error.sqlstate}).") from None


async def _look(conn: StorageConnection[Any], target: Target) -> Database:
    async with conn.cursor(row_factory=dict_row) as cursor:
        rows = await (await cursor.execute(_TABLES, {"schema": target.schema})).fetchall()
        found = await (await cursor.execute(_ROLES)).fetchone()
    assert found is not None  # an aggregate
    if not any(row["schema"] == target.schema for row in rows):
        raise MigrationError("There are no tables yet. Run `discreet migrate` first.")
    return Database(
        schema=target.schema,
        tables=[Table(**row) for row in rows],
        roles=frozenset(found["roles"]),
        may_mark_leakproof=found["is_superuser"],
        superusers=frozenset(found["superusers"]),
        is_cluster=conn.is_cluster,
    )


async def _applied(conn: AsyncConnection[Any], target: Target) -> str | None:
    async with conn.cursor(row_factory=dict_row) as cursor:
        row = await (await cursor.execute(_APPLIED, {"schema": target.schema})).fetchone()
    return None if row is None else row["applied"]


def _left(there: Database) -> list[str]:
    if there.may_mark_leakproof or not there.is_cluster:
        return []
    return [statement.as_string() for statement in leakproof(there.schema)]


async def refresh_roles(target: Target) -> RolesApplied | None:
    """Do what `apply_roles` does for tables that were made since; None where there are no roles yet.

    Raises:
        MigrationError: As `apply_roles`.
        StorageError: The database failed.
    """
    with storage_errors():
        async with await connect(target) as conn, conn.cursor(row_factory=dict_row) as cursor:
            row = await (await cursor.execute(_NAMED, {"schema": target.schema})).fetchone()
    if row is None:
        return None
    return await apply_roles(target, names=RoleNames(row["role"].removesuffix(APP_SUFFIX)))
