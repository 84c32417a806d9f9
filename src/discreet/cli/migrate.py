"""`discreet migrate`: bring all tables up to date, those of memory and those of the checkpointer, or say what they lack.

With `--distribute` it spreads them over the nodes of a Citus cluster then.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from discreet.checkpoint.migrating import (
    THREAD_TABLES,
    CheckpointTables,
    migrate_checkpoints,
    pending_checkpoint_tables,
)
from discreet.cli.watching import named, watched
from discreet.driver_errors import storage_errors
from discreet.settings import load_settings
from discreet.storage import resolve_dsn
from discreet.storage.database.access import access_of
from discreet.storage.database.connecting.connection import connect
from discreet.storage.database.connecting.target import target_of
from discreet.storage.database.migrating.applied import SchemaState
from discreet.storage.database.migrating.distribute import GROUPS, Group, Spread, distribute, undistributed
from discreet.storage.database.migrating.migrations import migrate, migration_state
from discreet.storage.database.roles import refresh_roles

PENDING = 1
"""Exit code of `--check` where `discreet migrate` has something to do."""
REFUSED = 2
"""Exit code of `--check` where this version can't do it, as for any other error."""


@dataclass(frozen=True, kw_only=True)
class _Done:
    """What a run did."""

    applied: Sequence[str]
    checkpoints: CheckpointTables
    spread: Sequence[Spread] | None
    """None: that was not asked for."""


@dataclass(frozen=True, kw_only=True)
class _Missing:
    """What a run would do."""

    state: SchemaState
    checkpoints: CheckpointTables
    spread: Sequence[Spread] | None
    """As of `_Done`."""


def run_migrate(dsn: str | None, *, checkpoint_schema: str | None, spread: bool, as_json: bool) -> None:
    """Do what is missing, and say what, each when it is done. Long steps are told on standard error meanwhile.

    With `spread` the tables are spread over the nodes of a Citus cluster.

    Raises:
        StorageError: The database can't be reached or refuses a migration; what was done before stays.
        MigrationError: With `spread`: it is not the coordinator of a cluster, or this role may not.
        ConfigurationError: There are several sets of LangGraph's tables in sight, and no schema is named.
    """
    tell: Callable[[str], None] = (lambda _: None) if as_json else print
    done = asyncio.run(_migrate(dsn, checkpoint_schema, tell, spread=spread))
    if as_json:
        checkpoints = {"schema": done.checkpoints.schema, "applied": done.checkpoints.steps}
        print(json.dumps({"applied": done.applied, "checkpoints": checkpoints, **_told(done.spread)}))
    elif not done.applied and not done.checkpoints.steps and not done.spread:
        print("All tables are up to date and spread." if spread else "All tables are up to date.")


def run_check(dsn: str | None, *, checkpoint_schema: str | None, spread: bool, as_json: bool) -> int:
    """Say what `run_migrate` would do; return 0 if that is nothing, 1 if it is something, 2 if it can't be done.

    Raises:
        StorageError: The database can't be reached, or this role may not look.
        MigrationError: With `spread`: it is not the coordinator of a cluster.
        ConfigurationError: As `run_migrate`.
    """
    missing = asyncio.run(_look(dsn, checkpoint_schema, spread=spread))
    lines = _differences(missing)
    if as_json:
        print(json.dumps(_as_json(missing)))
    else:
        print("\n".join(lines) or "All tables are up to date.")
    if missing.state.unknown or missing.state.changed:
        return REFUSED
    return PENDING if lines else 0


async def _migrate(dsn: str | None, schema: str | None, tell: Callable[[str], None], *, spread: bool) -> _Done:
    settings = load_settings()
    async with resolve_dsn(dsn, settings) as found:
        target = named(access_of(found, settings).owner.dsn)
        if spread:
            await undistributed(target)  # before anything is made in a database that is no coordinator
        async with watched(target):
            applied = await migrate(target, report=lambda name: tell(f"applied {name}"))
            checkpoints = await migrate_checkpoints(
                target, schema=schema, report=lambda what: tell(f"made {what} of the checkpointer")
            )
            if applied or checkpoints.steps:
                await refresh_roles(target_of(target))
            groups = _groups(checkpoints.schema)
            done = await distribute(target, groups=groups, told=lambda one: tell(_line(one))) if spread else None
    return _Done(applied=applied, checkpoints=checkpoints, spread=done)


async def _look(dsn: str | None, schema: str | None, *, spread: bool) -> _Missing:
    settings = load_settings()
    async with resolve_dsn(dsn, settings) as found:
        target = named(access_of(found, settings).owner.dsn)
        with storage_errors():
            async with await connect(target) as conn:
                state = await migration_state(conn)
        checkpoints = await pending_checkpoint_tables(target, schema=schema)
        left = await undistributed(target, groups=_groups(checkpoints.schema)) if spread else None
        return _Missing(state=state, checkpoints=checkpoints, spread=left)


def _groups(checkpoint_schema: str) -> Sequence[Group]:
    """Return what is spread: users by their keys, and the checkpoints of a thread by its id."""
    return [*GROUPS, Group(tables=THREAD_TABLES, key="thread_id", schema=checkpoint_schema)]


def _line(done: Spread) -> str:
    return f"spread {done.table} {done.how}: {done.rows:,} rows moved along"


def _differences(missing: _Missing) -> list[str]:
    state = missing.state
    return [
        *(f"unknown {row.name}: applied by Discreet {row.version}" for row in state.unknown),
        *(f"changed {name}: another file was applied" for name in state.changed),
        *(f"pending {migration.name}" for migration in state.pending),
        *(f"pending {what} of the checkpointer" for what in missing.checkpoints.steps),
        *(f"to spread {one.table} {one.how}" for one in missing.spread or ()),
    ]


def _as_json(missing: _Missing) -> Mapping[str, Any]:
    return {
        "pending": [migration.name for migration in missing.state.pending],
        "unknown": [{"name": row.name, "version": row.version} for row in missing.state.unknown],
        "changed": missing.state.changed,
        "checkpoints": {"schema": missing.checkpoints.schema, "pending": missing.checkpoints.steps},
        **_told(missing.spread),
    }


def _told(spread: Sequence[Spread] | None) -> Mapping[str, Any]:
    return {} if spread is None else {"spread": [asdict(one) for one in spread]}
