"""Make the roles and the policies of a database, or say what would."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.errors import Error, InsufficientPrivilege, OperationalError
from psycopg.sql import SQL, Identifier, Literal
from tenacity import AsyncRetrying

from discreet.driver_errors import storage_errors
from discreet.errors import MigrationError
from discreet.locks import PATIENCE, lock_retries, setup_lock
from discreet.storage.database.connecting.connection import StorageConnection, connect
from discreet.storage.database.connecting.target import Target
from discreet.storage.database.roles.looking import applied, foreign_to, look, state_of
from discreet.storage.database.roles.names import RoleNames
from discreet.storage.database.roles.policies import Step, fingerprint, steps


@dataclass(frozen=True, kw_only=True)
class RolesApplied:
    """What was done."""

    steps: Sequence[str]
    """By name; none where everything was as it is to be."""
    foreign: Sequence[str]
    """What somebody else put there that may let more be seen than policies do; it is left as it is."""


async def role_statements(target: Target, *, names: RoleNames | None = None) -> list[str]:
    """Return the SQL that `apply_roles` would run in this database.

    Raises:
        StorageError: The database failed.
        MigrationError: It has no tables yet.
    """
    with storage_errors():
        async with await connect(target) as conn:
            there = await look(conn, target)
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
        async with await connect(target) as holder, setup_lock(holder), await connect(target) as conn:
            there = await look(conn, target)
            if there.app_role not in (None, names.app):
                raise MigrationError(
                    f"The policies of this database are for {there.app_role}, and who has it would be locked out by those of {names.app}: "
                    f"name the roles by --prefix {RoleNames.of_app(there.app_role).prefix}."
                )
            planned = list(steps(there, names))
            made: list[str] = []
            if await applied(conn, target) != f"{fingerprint(planned)} {await state_of(conn, target, names)}":
                for step in planned:
                    await _take(conn, step)
                    report(step.what)
                    made.append(step.what)
                planned = list(steps(await look(conn, target), names))  # which takes nothing of others' away any more
                note = f"{fingerprint(planned)} {await state_of(conn, target, names)}"
                await conn.execute(
                    SQL("COMMENT ON POLICY app ON {} IS {}").format(Identifier(target.schema, "users"), Literal(note))
                )
            foreign = await foreign_to(conn, target, names)
    return RolesApplied(steps=made, foreign=foreign)


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


async def refresh_roles(target: Target) -> RolesApplied | None:
    """Do what `apply_roles` does for tables that were made since; None where there are no roles yet.

    Raises:
        MigrationError: As `apply_roles`.
        StorageError: The database failed.
    """
    with storage_errors():
        async with await connect(target) as conn:
            role = (await look(conn, target)).app_role
    return None if role is None else await apply_roles(target, names=RoleNames.of_app(role))
