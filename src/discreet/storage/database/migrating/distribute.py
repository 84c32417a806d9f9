"""Spread the tables of a database over the nodes of a Citus cluster: users by their keys, turns of the vault by theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, LiteralString

from psycopg import sql
from psycopg.errors import Error, InsufficientPrivilege, OperationalError
from psycopg.rows import TupleRow

from discreet.driver_errors import storage_errors
from discreet.errors import MigrationError
from discreet.storage.database.connecting.connection import StorageConnection, connect
from discreet.storage.database.connecting.target import Target


@dataclass(frozen=True, kw_only=True)
class Group:
    """Tables whose rows of one key lie together, on one node."""

    tables: Sequence[str]
    key: str | None
    """The column; None: all rows are on every node, as rows of all nodes refer to them, or are found by them."""
    schema: str | None = None
    """Where they are; None: where our tables are."""


GROUPS: Final = (
    Group(tables=("embedding_space", "store_namespace"), key=None),
    Group(
        tables=(
            "users",
            "user_memories",
            "memory",
            "memory_conflict",
            "memory_stats",
            "user_token",
            "session_record",
            "conversation_log",
            "forgotten_round",
            "batch_requests",
            "session_summary",
            "memory_proposal",
            "rolling_summary",
            "store_item",
            "delegation",
            "short_term_session",
            "short_term_round",
            "short_term_work",
            "audit_chain",
            "audit_entry",
        ),
        key="user_key",
    ),
    Group(tables=("vault_turn", "vault_value"), key="turn_key"),
)
"""What is in none of them stays on the coordinator: settings and their history, batch jobs and workers, seals of the audit trail, the sums of token counts, which migrations
were applied. No statement reads it together with what is spread."""

_HAS_CITUS: LiteralString = "SELECT FROM pg_extension WHERE extname = 'citus'"
_IS_COORDINATOR: LiteralString = "SELECT FROM pg_dist_local_group WHERE groupid = 0"

_SPREAD: LiteralString = """
SELECT n.nspname::text, c.relname::text
FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE p.partmethod <> 'n' OR p.repmodel = 't'
"""
"""By a column, or to every node. Tables that the coordinator keeps have an entry too once a foreign key has met them."""

_FOREIGN_KEYS: LiteralString = """
SELECT n.nspname::text, c.relname::text, k.conname::text, pg_get_constraintdef(k.oid)
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE k.contype = 'f' AND n.nspname = ANY (%s)
ORDER BY 1, 2, 3
"""


_OUR_TRIGGERS: LiteralString = """
SELECT t.tgname::text
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid
WHERE t.tgrelid = %s::regclass AND NOT t.tgisinternal AND p.pronamespace = c.relnamespace
"""
"""Citus takes no table that has some. Ours, whose functions are where our tables are, guard against mistakes; what may be
deleted, the rights of roles say. Those of others stay, and Citus refuses."""

_STAYS: Final = "checkpoint_forgotten"
"""The one of ours that stays and runs on the nodes: each of its statements is about one thread, whose rows are on the same node."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """What was done with a table, or is to be."""

    table: str
    """With its schema."""
    how: str
    """`by user_key`, or whichever column it is, or `to every node`."""
    rows: int = 0
    """That were there, and moved along."""


@dataclass(frozen=True)
class _Step:
    """A table that is to be spread."""

    schema: str
    name: str
    key: str | None
    beside: sql.Identifier | None
    """Rows of one key lie beside those of this table; None: it is the first of its group."""

    @property
    def table(self) -> sql.Identifier:
        return sql.Identifier(self.schema, self.name)

    def done(self, rows: int) -> Spread:
        how = "to every node" if self.key is None else f"by {self.key}"
        return Spread(table=f"{self.schema}.{self.name}", how=how, rows=rows)


async def distribute(
    dsn: str | Target, *, groups: Sequence[Group] = GROUPS, told: Callable[[Spread], None] = lambda _: None
) -> list[Spread]:
    """Spread what is not spread yet, in one transaction; return what that was. Rows that are there move along.

    `discreet migrate` must have made the tables. Whoever writes waits until it is done, so stop what writes before.

    Raises:
        MigrationError: The database is not the coordinator of a Citus cluster, this role may not, or Citus refused.
        StorageError: The database failed; nothing was spread.
    """
    with storage_errors():
        async with await connect(dsn) as conn:
            missing = await _missing(conn, groups)
            try:
                async with conn.transaction():
                    return await _spread_all(conn, missing, told) if missing else []
            except InsufficientPrivilege:
                raise MigrationError(
                    "This role may not spread the tables; nothing was. Run `discreet migrate --distribute` as the role "
                    "that owns them and may log in to the workers (docs/citus.md)."
                ) from None
            except OperationalError:
                raise
            except Error as error:
                raise MigrationError(
                    f"Citus refused to spread the tables (SQLSTATE {error.sqlstate}); nothing was. The server's log has the "
                    "statement. Are all workers up, and do they have pgvector (docs/citus.md)?"
                ) from None


async def undistributed(dsn: str | Target, *, groups: Sequence[Group] = GROUPS) -> list[Spread]:
    """Return what `distribute` would do, where the tables are there. Nothing is changed.

    Raises:
        MigrationError: The database is not the coordinator of a Citus cluster.
        StorageError: The database failed.
    """
    with storage_errors():
        async with await connect(dsn) as conn:
            return [step.done(rows=0) for step in await _missing(conn, groups)]


async def _missing(conn: StorageConnection[TupleRow], groups: Sequence[Group]) -> list[_Step]:
    if await (await conn.execute(_HAS_CITUS)).fetchone() is None:
        raise MigrationError(
            "This database has no extension citus. Connect to the coordinator of a Citus cluster, in a database "
            "where CREATE EXTENSION citus was run and the workers were added (citus_add_node)."
        )
    if await (await conn.execute(_IS_COORDINATOR)).fetchone() is None:
        raise MigrationError(
            "This is a worker of a Citus cluster. Connect to its coordinator: it makes the tables of all."
        )
    spread = {(schema, table) for schema, table in await (await conn.execute(_SPREAD)).fetchall()}
    steps = []
    for group in groups:
        schema = group.schema or conn.names.schema
        for table in group.tables:
            if (schema, table) not in spread:
                beside = None if table == group.tables[0] else sql.Identifier(schema, group.tables[0])
                steps.append(_Step(schema, table, group.key, beside))
    return steps


async def _spread_all(
    conn: StorageConnection[TupleRow], steps: Sequence[_Step], told: Callable[[Spread], None]
) -> list[Spread]:
    """Spread tables without their foreign keys, as Citus asks for, and put these back."""
    # One connection a node, as adding foreign keys between tables that were just spread needs it.
    await conn.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    schemas = sorted({step.schema for step in steps})
    foreign_keys = await (await conn.execute(_FOREIGN_KEYS, (schemas,))).fetchall()
    for schema, table, name, _ in foreign_keys:
        drop = sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}")
        await conn.execute(drop.format(sql.Identifier(schema, table), sql.Identifier(name)))
    done = []
    for step in steps:
        done.append(step.done(await _spread(conn, step)))
        told(done[-1])
    for schema, table, name, definition in foreign_keys:
        add = sql.SQL("ALTER TABLE {} ADD CONSTRAINT {} {}")
        await conn.execute(add.format(sql.Identifier(schema, table), sql.Identifier(name), sql.SQL(definition)))
    return done


async def _spread(conn: StorageConnection[TupleRow], step: _Step) -> int:
    """Spread one table and its rows, and leave none where they were: what is erased later must be gone. Return how many."""
    name = step.table.as_string()
    triggers = {trigger for (trigger,) in await (await conn.execute(_OUR_TRIGGERS, (name,))).fetchall()}
    for trigger in sorted(triggers - {_STAYS}):
        await conn.execute(sql.SQL("DROP TRIGGER {} ON {}").format(sql.Identifier(trigger), step.table))
    if _STAYS in triggers:
        await conn.execute("SET LOCAL citus.enable_unsafe_triggers TO on")
    [(rows,)] = await (await conn.execute(sql.SQL("SELECT count(*) FROM {}").format(step.table))).fetchall()
    if step.key is None:
        await conn.execute("SELECT create_reference_table(%s)", (name,))
    else:
        beside = "none" if step.beside is None else step.beside.as_string()
        await conn.execute("SELECT create_distributed_table(%s, %s, colocate_with => %s)", (name, step.key, beside))
    await conn.execute("SELECT truncate_local_data_after_distributing_table(%s)", (name,))
    await conn.execute("SET LOCAL citus.enable_unsafe_triggers TO off")
    return int(rows)
