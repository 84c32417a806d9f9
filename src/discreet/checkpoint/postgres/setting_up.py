"""Create what is missing, one process at a time; look only, without any lock or right, where nothing is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from psycopg import AsyncConnection, Connection
from psycopg.errors import InsufficientPrivilege, ReadOnlySqlTransaction
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from tenacity import AsyncRetrying, Retrying

from discreet.checkpoint.connections import own_connection, own_sync_connection
from discreet.checkpoint.postgres.cursors import AsyncTableCursor, TableCursor
from discreet.checkpoint.postgres.schema import VERSION, Found, Plan, Step, found, looks, read_only, refused
from discreet.locks import PATIENCE, lock_retries, setup_lock, sync_setup_lock


async def set_up(
    source: AsyncConnection[Any] | AsyncConnectionPool[Any],
    schema: str,
    there: Found,
    plan: Plan,
    report: Callable[[str], None] | None = None,
) -> list[str]:
    """Do what `plan` says of `there`, on connections of its own to where `source` leads; return what was done.

    Raises:
        MigrationError: Another process has been at it for a minute, or others at the tables; this role may not, or the
            server takes no writes.
    """
    done: list[str] = []
    if not plan(there):
        return done
    async with (
        own_connection(source) as holder,
        setup_lock(holder),
        own_connection(source) as conn,
        AsyncTableCursor(conn, schema) as cursor,
    ):
        steps = plan(await look(cursor))
        for number, step in enumerate(steps):
            try:
                await _take(cursor, step)
            except InsufficientPrivilege:
                raise refused(schema, steps[number:]) from None
            except ReadOnlySqlTransaction:
                raise read_only(schema, steps[number:]) from None
            done.append(step.what)
            if report:
                report(step.what)
    return done


def sync_set_up(source: Connection[Any] | ConnectionPool[Any], schema: str, there: Found, plan: Plan) -> None:
    """Do what `set_up` does, blocking."""
    if not plan(there):
        return
    with (
        own_sync_connection(source) as holder,
        sync_setup_lock(holder),
        own_sync_connection(source) as conn,
        TableCursor(conn, schema) as cursor,
    ):
        steps = plan(sync_look(cursor))
        for number, step in enumerate(steps):
            try:
                _sync_take(cursor, step)
            except InsufficientPrivilege:
                raise refused(schema, steps[number:]) from None
            except ReadOnlySqlTransaction:
                raise read_only(schema, steps[number:]) from None


async def look(cursor: AsyncTableCursor) -> Found:
    """Return what is in the schema of `cursor`."""
    statement = looks(cursor.schema)
    (row,) = await (await cursor.execute(statement.sql, statement.params)).fetchall()
    there = found(cursor.schema, row)
    if "checkpoint_migrations" in there.tables:
        (row,) = await (await cursor.execute(VERSION)).fetchall()
        return there._replace(version=row["version"])
    return there


def sync_look(cursor: TableCursor) -> Found:
    """Do what `look` does, blocking."""
    statement = looks(cursor.schema)
    (row,) = cursor.execute(statement.sql, statement.params).fetchall()
    there = found(cursor.schema, row)
    if "checkpoint_migrations" in there.tables:
        (row,) = cursor.execute(VERSION).fetchall()
        return there._replace(version=row["version"])
    return there


async def _take(cursor: AsyncTableCursor, step: Step) -> None:
    if step.whole:
        await AsyncRetrying(**lock_retries(step.what))(partial(_take_whole, cursor, step))
        return
    for statement in step.statements:
        await cursor.execute(statement.sql, statement.params)


async def _take_whole(cursor: AsyncTableCursor, step: Step) -> None:
    async with cursor.connection.transaction():
        await cursor.execute(PATIENCE)
        for statement in step.statements:
            await cursor.execute(statement.sql, statement.params)


def _sync_take(cursor: TableCursor, step: Step) -> None:
    if step.whole:
        Retrying(**lock_retries(step.what))(partial(_sync_take_whole, cursor, step))
        return
    for statement in step.statements:
        cursor.execute(statement.sql, statement.params)


def _sync_take_whole(cursor: TableCursor, step: Step) -> None:
    with cursor.connection.transaction():
        cursor.execute(PATIENCE)
        for statement in step.statements:
            cursor.execute(statement.sql, statement.params)
