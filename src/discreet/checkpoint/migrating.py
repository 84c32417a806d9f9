"""Bring the checkpointer's tables up to date without a saver, for `discreet migrate`: LangGraph's, ours, and the spill."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from discreet.checkpoint import postgres_spill
from discreet.checkpoint.connections import OPTIONS
from discreet.checkpoint.policy import CheckpointPolicy
from discreet.checkpoint.postgres import schema as durable
from discreet.checkpoint.postgres.cursors import AsyncTableCursor, table_cursor
from discreet.checkpoint.postgres.foreign_channels import foreign_channels, is_adoption
from discreet.checkpoint.postgres.names import Tables
from discreet.checkpoint.postgres.schema import Found, Step
from discreet.checkpoint.postgres.setting_up import look, set_up
from discreet.checkpoint.unnamed_channels import of_application, tell_adopted
from discreet.driver_errors import storage_errors
from discreet.leases import check_encoding

THREAD_TABLES = ("checkpoint_threads", *durable.LANGGRAPHS, "checkpoint_messages", "checkpoint_spill")
"""Tables with the rows of threads, by thread_id."""


class CheckpointTables(NamedTuple):
    """What was, or is to be, done."""

    schema: str
    """Where the tables are."""
    steps: Sequence[str]
    unnamed: Sequence[str] = ()
    """Where none of our tables is yet: channels of an application's in threads that another saver has stored."""


async def pending_checkpoint_tables(dsn: str, *, schema: str | None = None) -> CheckpointTables:
    """Return what `migrate_checkpoints` would do. Nothing is changed.

    Raises:
        StorageError: The database can't be reached, is not UTF-8, or this role may not look.
        ConfigurationError: There are several sets of tables in sight, and no `schema` says which is meant.
    """
    async with _found(dsn, schema) as (conn, there):
        channels = await _foreign(conn, there)
        return CheckpointTables(there.schema, [step.what for step in missing(there)], of_application(channels))


async def migrate_checkpoints(
    dsn: str, *, schema: str | None = None, report: Callable[[str], None] | None = None
) -> CheckpointTables:
    """Create or upgrade all tables of a saver with this `schema`; return what was done, told to `report` as it was.

    Channels of threads that another saver has stored are logged where our tables are new.

    The table of the spill is among them, so that a role that owns nothing may turn DISCREET_SPILL on later.

    Raises:
        MigrationError: Another process has been at it for a minute, or others at the tables; this role may not, or the
            server takes no writes.
        StorageError: As `pending_checkpoint_tables`.
        ConfigurationError: As `pending_checkpoint_tables`.
    """
    async with _found(dsn, schema) as (conn, there):
        done = await set_up(conn, there.schema, there, missing, report)
        tell_adopted(await _foreign(conn, there), CheckpointPolicy())
        return CheckpointTables(there.schema, done)


def missing(there: Found) -> Sequence[Step]:
    """Return what a schema lacks of all tables."""
    tier = durable.missing(there)
    spill = [step for step in postgres_spill.missing(there) if step.what not in durable.OWN_TABLES]
    return [*tier, *(step for step in spill if step not in tier)]


async def _foreign(conn: AsyncConnection[Any], there: Found) -> Sequence[str]:
    if not is_adoption(there):
        return ()
    async with AsyncTableCursor(conn, there.schema) as cursor:
        return await foreign_channels(cursor)


@asynccontextmanager
async def _found(dsn: str, schema: str | None) -> AsyncIterator[tuple[AsyncConnection[Any], Found]]:
    with storage_errors():
        async with await AsyncConnection.connect(dsn, **OPTIONS) as conn:
            check_encoding(conn)
            async with await table_cursor(conn, Tables(schema)) as cursor:
                there = await look(cursor)
            yield conn, there
