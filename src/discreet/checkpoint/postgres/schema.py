"""The tables of the durable tier: LangGraph's own, and what we add. Pure: what to run, given what is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.checkpoint.postgres.base import BasePostgresSaver

from discreet.checkpoint.postgres.guard import GUARDS, add_guards, drop_guards
from discreet.checkpoint.postgres.statements import Statement

_MESSAGES = """
CREATE TABLE IF NOT EXISTS checkpoint_messages (
    thread_id TEXT NOT NULL,
    checkpoint_ns TEXT NOT NULL DEFAULT '',
    channel TEXT NOT NULL,
    position INTEGER NOT NULL,
    message_id TEXT,
    kind TEXT NOT NULL CHECK (kind IN ('human', 'ai')),
    content TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (thread_id, checkpoint_ns, channel, position)
)
"""

_TOMBSTONES = """
CREATE TABLE IF NOT EXISTS checkpoint_tombstones (
    digest BYTEA PRIMARY KEY,
    deleted_at TIMESTAMPTZ NOT NULL
)
"""
_CREATE_TOMBSTONE_INDEX = (
    "CREATE INDEX IF NOT EXISTS checkpoint_tombstones_deleted_at ON checkpoint_tombstones (deleted_at)"
)
_OWN_TABLES = (_MESSAGES, _TOMBSTONES, _CREATE_TOMBSTONE_INDEX)

RUN_INDEX = "checkpoints_run_id_idx"
_CREATE_RUN_INDEX = f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {RUN_INDEX} ON checkpoints ((metadata ->> 'run_id'))"
_DROP_RUN_INDEX = f"DROP INDEX CONCURRENTLY IF EXISTS {RUN_INDEX}"

_LOCK_TIMEOUT = "SET LOCAL lock_timeout = '5s'"
"""Whoever waits to change a table keeps everybody else waiting, so behind a backup better give up."""

LOOK = Statement(
    """
    SELECT
        to_regclass('checkpoints') IS NOT NULL AS stock,
        to_regclass('checkpoint_messages') IS NOT NULL AND to_regclass('checkpoint_tombstones') IS NOT NULL AS own,
        (SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%(run_index)s)) AS run_index,
        ARRAY(
            SELECT conname::text FROM pg_constraint
            WHERE conrelid IN (to_regclass('checkpoint_blobs'), to_regclass('checkpoint_writes'))
                AND conname = ANY(%(guards)s)
        ) AS guards
    """,
    {"run_index": RUN_INDEX, "guards": list(GUARDS.values())},
    returns=True,
)


def first_statements(found: Mapping[str, Any], guard: bool | None) -> list[Statement]:
    """Return what to run in one transaction, before LangGraph's own migrations, in a database without its tables.

    That is their beginning, up to the indexes that PostgreSQL builds outside transactions only: so whoever finds the
    tables finds them guarded, even if this process is ended half-way.
    """
    if found["stock"]:
        return []
    statements = []
    for version, migration in enumerate(BasePostgresSaver.MIGRATIONS):
        if "CONCURRENTLY" in migration:
            break
        statements += [
            Statement(migration),
            Statement("INSERT INTO checkpoint_migrations (v) VALUES (%(v)s) ON CONFLICT DO NOTHING", {"v": version}),
        ]
    return [*statements, *map(Statement, _OWN_TABLES), *([] if guard is False else add_guards(whole=True))]


def last_statements(found: Mapping[str, Any]) -> list[Statement]:
    """Return what to run one by one after LangGraph's own migrations."""
    statements = [] if found["own"] else [*map(Statement, _OWN_TABLES)]
    if found["run_index"] is None:
        statements.append(Statement(_CREATE_RUN_INDEX))
    elif not found["run_index"]:  # a build that was broken off leaves an index that nothing uses
        statements += [Statement(_DROP_RUN_INDEX), Statement(_CREATE_RUN_INDEX)]
    return statements


def guard_statements(found: Mapping[str, Any], guard: bool | None) -> list[Statement]:
    """Return what to run in one transaction to add or drop the guards of tables that were there."""
    there = frozenset(found["guards"])
    changes = {None: [], True: add_guards(whole=False, there=there), False: drop_guards(there)}[guard]
    return [Statement(_LOCK_TIMEOUT), *changes] if changes else []
