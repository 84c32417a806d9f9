"""The tables of the durable tier: LangGraph's own, and what we add. Pure: what to run, given what is there."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from langgraph.checkpoint.postgres.base import BasePostgresSaver
from psycopg.sql import Literal

from discreet.checkpoint.postgres.forgetting import IS_THERE, TRIGGER, forgetting
from discreet.checkpoint.postgres.guard import GUARDS, add_guards, drop_guards
from discreet.checkpoint.postgres.names import quoted
from discreet.checkpoint.postgres.statements import Statement
from discreet.errors import MigrationError

_MESSAGES = """
CREATE TABLE IF NOT EXISTS checkpoint_messages (
    thread_id TEXT NOT NULL,
    checkpoint_ns TEXT NOT NULL DEFAULT '',
    channel TEXT NOT NULL,
    position INTEGER NOT NULL,
    message_id TEXT,
    kind TEXT NOT NULL CHECK (kind IN ('human', 'ai', 'summary', 'tool')),
    content TEXT NOT NULL,
    tool TEXT CHECK (CASE kind WHEN 'tool' THEN tool IS NOT NULL WHEN 'ai' THEN true ELSE tool IS NULL END),
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (thread_id, checkpoint_ns, channel, position)
)
"""


"""tool: of a call or a result of a tool that the policy names, the calls, or the name, status and call of the result, as JSON."""

_THREADS = """
CREATE TABLE IF NOT EXISTS checkpoint_threads (
    thread_id TEXT PRIMARY KEY,
    user_key UUID NOT NULL,
    deleted_at TIMESTAMPTZ,
    oldest_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    owner UUID GENERATED ALWAYS AS (substr(encode(sha256(uuid_send(user_key)), 'hex'), 1, 32)::uuid) STORED
)
"""
"""user_key: whose it is; `owner` stands for it, see `shown_key`, where who reads may be somebody else. oldest_at: nothing that our saver stored of the thread is older, but for what stays with its newest checkpoint. Whoever stores leaves
it as it is; retention looks at a thread once that time is over, and moves it forward."""
_CREATE_OWNER_INDEX = (
    "CREATE INDEX IF NOT EXISTS checkpoint_threads_user_key ON checkpoint_threads (user_key, thread_id)"
)
_CREATE_DELETION_INDEX = (
    "CREATE INDEX IF NOT EXISTS checkpoint_threads_deleted_at ON checkpoint_threads (deleted_at) "
    "WHERE deleted_at IS NOT NULL"
)
_CREATE_AGE_INDEX = (
    "CREATE INDEX IF NOT EXISTS checkpoint_threads_oldest_at ON checkpoint_threads (oldest_at, thread_id)"
)

LANGGRAPHS = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
"""LangGraph's tables that have rows of threads."""

THREADS = "checkpoint_threads"

OWN_TABLES: Mapping[str, Sequence[str]] = {
    "checkpoint_messages": (_MESSAGES,),
    THREADS: (_THREADS, _CREATE_OWNER_INDEX, _CREATE_DELETION_INDEX, _CREATE_AGE_INDEX),
}
"""What we add beside LangGraph's, by name, and the statements that create it. Names begin with `checkpoint_`."""

_TABLES = (*LANGGRAPHS, *OWN_TABLES)
_IS_KEPT = "(a.attlen = -1 OR a.atttypid = 'uuid'::regtype) AND coalesce(a.attstattarget, -1) <> 0"
_SAMPLED = f"""
SELECT c.oid AS "table", c.relnamespace AS "schema",
    format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS 0', c.oid::regclass, a.attname) AS cure
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relname IN {_TABLES} AND c.relkind IN ('r', 'p') AND {_IS_KEPT}
UNION ALL
SELECT c.oid, c.relnamespace, format('ALTER INDEX %s ALTER COLUMN %s SET STATISTICS 0', i.indexrelid::regclass, a.attnum)
FROM pg_class c JOIN pg_index i ON i.indrelid = c.oid JOIN pg_attribute a ON a.attrelid = i.indexrelid
WHERE c.relname IN {_TABLES} AND i.indkey[a.attnum - 1] = 0 AND {_IS_KEPT}
UNION ALL
SELECT c.oid, c.relnamespace, format('ALTER STATISTICS %I.%I SET STATISTICS 0', n.nspname, s.stxname)
FROM pg_class c JOIN pg_statistic_ext s ON s.stxrelid = c.oid JOIN pg_namespace n ON n.oid = s.stxnamespace
WHERE c.relname IN {_TABLES} AND s.stxkind && ARRAY['m', 'e']::"char"[] AND coalesce(s.stxstattarget, -1) <> 0
"""
"""Columns, expressions of indexes and extended statistics of which values are kept for the planner. Whoever may ask for a plan finds them out by what
it estimates, though row security hides the rows."""
_UNSAMPLE = f"""
DO $$
DECLARE
    said record;
BEGIN
    FOR said IN
        SELECT format('ALTER TABLE %s ALTER COLUMN %I TYPE %s', c.oid::regclass, a.attname, format_type(a.atttypid, a.atttypmod)) AS emptying
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attlen = -1
        WHERE c.relname IN {LANGGRAPHS} AND c.oid IN (SELECT s."table" FROM ({_SAMPLED}) s WHERE s."schema" = {{schema}}::regnamespace)
    LOOP
        BEGIN
            EXECUTE said.emptying;
        EXCEPTION WHEN feature_not_supported THEN NULL;
        END;
    END LOOP;
    FOR said IN SELECT s.cure FROM ({_SAMPLED}) s WHERE s."schema" = {{schema}}::regnamespace
    LOOP
        EXECUTE said.cure;
    END LOOP;
END
$$
"""
"""A column that is given the type that it has loses what was kept of it, as do indexes and statistics with it, and no row is rewritten. One that
a view or a policy reads can't be given any."""

RUN_INDEX = "checkpoints_run_id_idx"
_CREATE_RUN_INDEX = f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {RUN_INDEX} ON checkpoints ((metadata ->> 'run_id'))"
_BUILT = re.compile(r"CREATE INDEX CONCURRENTLY IF NOT EXISTS (\w+)")

_RECORD = "INSERT INTO checkpoint_migrations (v) VALUES (%(v)s) ON CONFLICT DO NOTHING"

LOOK = f"""
SELECT
    n.oid IS NOT NULL AS here,
    ARRAY(SELECT relname::text FROM pg_class WHERE relnamespace = n.oid AND relkind IN ('r', 'p')) AS tables,
    ARRAY(
        SELECT ARRAY[c.relname::text, i.indisvalid::text] FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        WHERE c.relnamespace = n.oid AND c.relname LIKE 'checkpoint%%'
    ) AS indexes,
    ARRAY(SELECT conname::text FROM pg_constraint WHERE connamespace = n.oid AND conname = ANY(%(guards)s)) AS guards,
    {IS_THERE} AS forgets,
    EXISTS (SELECT FROM ({_SAMPLED.replace("%", "%%")}) s WHERE s."schema" = n.oid) AS sampled
FROM (SELECT (SELECT oid FROM pg_namespace WHERE nspname = %(schema)s)) AS n(oid)
"""
VERSION = "SELECT COALESCE(max(v), -1) AS version FROM checkpoint_migrations"


class Found(NamedTuple):
    """What a schema has."""

    schema: str
    here: bool
    """Whether the schema itself is there."""
    tables: frozenset[str]
    indexes: Mapping[str, bool]
    """Whether each is valid. One whose building was broken off is not, and nothing uses it."""
    guards: frozenset[str]
    forgets: bool = False
    """Whether what we keep of a thread goes with the last that LangGraph keeps of it."""
    sampled: bool = False
    """Whether values of the tables are kept for the planner."""
    version: int = -1
    """The last of LangGraph's migrations that has run."""


class Step(NamedTuple):
    """One thing to create."""

    what: str
    """Its name, to be told to whoever may not."""
    statements: Sequence[Statement]
    whole: bool = True
    """All in one transaction; else one by one."""


Plan = Callable[[Found], Sequence[Step]]


def looks(schema: str) -> Statement:
    """Return what finds out what `schema` has."""
    return Statement(LOOK, {"schema": schema, "guards": list(GUARDS.values())}, returns=True)


def found(schema: str, row: Mapping[str, Any]) -> Found:
    """Return what the row of `looks` says."""
    indexes = {name: valid == "true" for name, valid in row["indexes"]}
    return Found(
        schema,
        row["here"],
        frozenset(row["tables"]),
        indexes,
        frozenset(row["guards"]),
        forgets=row["forgets"],
        sampled=row["sampled"],
    )


def missing(there: Found, guard: bool | None = None) -> list[Step]:
    """Return what to do, in this order, until a schema has all that the durable tier needs, and the guards as they are to be.

    In a schema without LangGraph's tables the first step is the beginning of its migrations, up to the indexes that
    PostgreSQL builds outside transactions only: so whoever finds the tables finds them guarded, even if this process is
    ended half-way.
    """
    if "checkpoints" in there.tables:
        begin, done, guarding = [], there.version + 1, _guards(there, guard)
    else:
        done = next(v for v, sql in enumerate(BasePostgresSaver.MIGRATIONS) if "CONCURRENTLY" in sql)
        begin, guarding = [Step("LangGraph's tables", _begin(done, there, guard))], []
    migrations = [
        Step(f"LangGraph's migration {v}", [*_broken(there, sql), *_migration(v)], whole=_BUILT.search(sql) is None)
        for v, sql in enumerate(BasePostgresSaver.MIGRATIONS)
        if v >= done
    ]
    own = [
        Step(name, [*map(Statement, creating)])
        for name, creating in OWN_TABLES.items()
        if name not in there.tables and not begin
    ]
    own += [] if there.forgets or begin else [Step(f"the trigger {TRIGGER}", forgetting(there.schema))]
    indexes = _indexes(there, done)
    statistics = _statistics(there) if begin or migrations or own or indexes or there.sampled else []
    return [*missing_schema(there), *begin, *migrations, *own, *indexes, *statistics, *guarding]


def missing_schema(there: Found) -> list[Step]:
    """Return what creates the schema itself, if need be."""
    create = Statement(f"CREATE SCHEMA IF NOT EXISTS {quoted(there.schema)}")
    return [] if there.here else [Step(f"the schema {quoted(there.schema)}", [create])]


def refused(schema: str, steps: Sequence[Step]) -> MigrationError:
    """Return what to tell a role that may not do `steps`."""
    name = quoted(schema)
    return MigrationError(
        f"The checkpointer needs {', '.join(step.what for step in steps)} in the schema {name}, and this role may not create "
        "or change that. Have the owner of the tables, or whoever may create them, run `discreet migrate` or call setup() once, and then run "
        f"GRANT USAGE ON SCHEMA {name} TO this role; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {name} TO "
        "this role. From then on setup() changes nothing."
    )


def read_only(schema: str, steps: Sequence[Step]) -> MigrationError:
    """Return what to tell whoever wants `steps` of a server that takes no writes."""
    return MigrationError(
        f"The checkpointer needs {', '.join(step.what for step in steps)} in the schema {quoted(schema)}, and the server takes "
        "no writes: it is a standby, or read-only by default_transaction_read_only. Run `discreet migrate` on the primary; a "
        "standby follows by itself."
    )


def _begin(count: int, there: Found, guard: bool | None) -> list[Statement]:
    guards = [] if guard is False else add_guards(whole=True, there=there.guards)
    migrations = [statement for v in range(count) for statement in _migration(v)]
    own = [Statement(sql) for creating in OWN_TABLES.values() for sql in creating]
    return [*migrations, *own, *forgetting(there.schema), *guards]


def _migration(version: int) -> list[Statement]:
    return [Statement(BasePostgresSaver.MIGRATIONS[version]), Statement(_RECORD, {"v": version})]


def _statistics(there: Found) -> list[Step]:
    """Return what has no values kept of what the tables hold, and drops those that are."""
    sql = _UNSAMPLE.format(schema=Literal(quoted(there.schema)).as_string())
    return [Step("the tables without statistics of what they hold", [Statement(sql)])]


def _indexes(there: Found, done: int) -> list[Step]:
    """Return what builds our index, and again what a process that was killed while it built it has left of LangGraph's."""
    theirs = [sql for sql in BasePostgresSaver.MIGRATIONS[:done] if _broken(there, sql)]
    ours = [] if there.indexes.get(RUN_INDEX) else [_CREATE_RUN_INDEX]
    return [
        Step(f"the index {_built(sql)}", [*_broken(there, sql), Statement(sql)], whole=False)
        for sql in (*theirs, *ours)
    ]


def _broken(there: Found, sql: str) -> list[Statement]:
    """Return what drops the index that `sql` builds, if it is there and invalid, so that IF NOT EXISTS would keep it so."""
    name = _built(sql)
    if name is None or there.indexes.get(name, True):
        return []
    return [Statement(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")]


def _built(sql: str) -> str | None:
    found = _BUILT.search(sql)
    return found and found[1]


def _guards(there: Found, guard: bool | None) -> list[Step]:
    changes = {None: [], True: add_guards(whole=False, there=there.guards), False: drop_guards(there.guards)}[guard]
    return [Step("the guards", changes)] if changes else []
