"""Say what threads take, by statements over LangGraph's tables: how they grow, which are largest, what pruning would free."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, LiteralString

from psycopg import sql

from discreet.driver_errors import storage_errors
from discreet.scanning.databases import Opened, Table
from discreet.scanning.databases.postgres import PostgresDatabase
from discreet.scanning.databases.sqlite import SqliteDatabase
from discreet.scanning.profiles import BLOBS, CHECKPOINTS, WRITES
from discreet.scanning.report import GrowthStep, ThreadSize, Usage

LARGEST: Final = 10
STEPS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)

# Columns, not whole rows: of a row the size depends on the plan that it came by.
_PER_THREAD: LiteralString = """
SELECT thread_id, sum(checkpoints)::bigint AS checkpoints, sum(bytes)::bigint AS bytes
FROM (
    SELECT thread_id, count(*) AS checkpoints, sum(pg_column_size(c.checkpoint) + pg_column_size(c.metadata)) AS bytes FROM {checkpoints} c GROUP BY thread_id
    UNION ALL
    SELECT thread_id, 0, sum(coalesce(pg_column_size(b.blob), 0)) FROM {blobs} b GROUP BY thread_id
    UNION ALL
    SELECT thread_id, 0, sum(pg_column_size(w.blob)) FROM {writes} w GROUP BY thread_id
) sizes
GROUP BY thread_id
"""

_LARGEST: LiteralString = (
    "SELECT thread_id, checkpoints, bytes FROM ({per_thread}) p ORDER BY bytes DESC, thread_id LIMIT %(most)s"
)

_GROWTH: LiteralString = """
SELECT (SELECT min(s) FROM unnest(%(steps)s::bigint[]) s WHERE s >= p.checkpoints) AS step, count(*), sum(bytes)::bigint,
    sum(checkpoints)::bigint
FROM ({per_thread}) p
GROUP BY step ORDER BY step NULLS LAST
"""

_TIMES: LiteralString = "SELECT min(checkpoint ->> 'ts'), max(checkpoint ->> 'ts') FROM {checkpoints}"

_NEWEST: LiteralString = """
WITH newest AS MATERIALIZED (
    SELECT DISTINCT ON (thread_id, checkpoint_ns) thread_id, checkpoint_ns, checkpoint_id,
        checkpoint -> 'channel_versions' AS versions, checkpoint -> 'channel_values' AS inline, pg_column_size(c.checkpoint) + pg_column_size(c.metadata) AS bytes
    FROM {checkpoints} c
    WHERE checkpoint_ns !~ ':'
    ORDER BY thread_id, checkpoint_ns, checkpoint_id DESC
),
values AS (
    SELECT sum(coalesce(pg_column_size(b.blob), 0)) AS bytes
    FROM newest n CROSS JOIN LATERAL jsonb_each_text(n.versions) v
    JOIN {blobs} b USING (thread_id, checkpoint_ns)
    WHERE b.channel = v.key AND b.version = v.value
),
writes AS (
    SELECT sum(pg_column_size(w.blob)) AS bytes FROM newest n JOIN {writes} w USING (thread_id, checkpoint_ns, checkpoint_id)
)
SELECT
    coalesce((SELECT sum(bytes) FROM newest), 0)::bigint + coalesce((SELECT bytes FROM values), 0)::bigint
        + coalesce((SELECT bytes FROM writes), 0)::bigint,
    (SELECT count(*) FROM newest
     WHERE checkpoint_ns = '' AND EXISTS (
        SELECT FROM jsonb_object_keys(inline) k WHERE k LIKE 'branch:to:%%' OR k = '__start__'
     ))
"""

_PER_THREAD_OF_FILE: Final = """
SELECT thread_id, sum(checkpoints) AS checkpoints, sum(bytes) AS bytes
FROM (
    SELECT thread_id, count(*) AS checkpoints, sum(length(checkpoint) + length(metadata)) AS bytes
    FROM checkpoints GROUP BY thread_id
    UNION ALL
    SELECT thread_id, 0, sum(length(value)) FROM writes GROUP BY thread_id
)
GROUP BY thread_id
"""

_KEPT_OF_FILE: Final = """
SELECT coalesce(sum(length(c.checkpoint) + length(c.metadata)), 0) + coalesce(sum(
    (SELECT sum(length(w.value)) FROM writes w
     WHERE (w.thread_id, w.checkpoint_ns, w.checkpoint_id) = (c.thread_id, c.checkpoint_ns, c.checkpoint_id))
), 0)
FROM checkpoints c
WHERE c.checkpoint_ns NOT LIKE '%:%' AND NOT EXISTS (
    SELECT 1 FROM checkpoints n
    WHERE n.thread_id = c.thread_id AND n.checkpoint_ns = c.checkpoint_ns AND n.checkpoint_id > c.checkpoint_id
)
"""

Digest = Callable[[str], str]


def usage_of(database: Opened, tables: Sequence[Table], digest: Digest) -> Usage | None:
    """Return what the threads of a database take; None if it has none of LangGraph's tables, or several sets of them."""
    found = langgraphs(tables)
    if isinstance(database, PostgresDatabase) and {CHECKPOINTS, BLOBS, WRITES} <= found.keys():
        return _of_postgres(database, found, digest)
    if isinstance(database, SqliteDatabase) and {CHECKPOINTS, WRITES} <= found.keys():
        return _of_sqlite(database, digest)
    return None


def langgraphs(tables: Sequence[Table]) -> dict[str, Table]:
    """Return LangGraph's tables by label, those that are there once."""
    by_label = {
        label: [table for table in tables if table.profile.label == label] for label in (CHECKPOINTS, BLOBS, WRITES)
    }
    return {label: of_label[0] for label, of_label in by_label.items() if len(of_label) == 1}


def _of_postgres(database: PostgresDatabase, tables: dict[str, Table], digest: Digest) -> Usage:
    names = {
        name: sql.Identifier(tables[label].schema, tables[label].name)
        for name, label in (("checkpoints", CHECKPOINTS), ("blobs", BLOBS), ("writes", WRITES))
    }
    per_thread = sql.SQL(_PER_THREAD).format(**names)

    def rows(statement: LiteralString, params: dict[str, Any] | None = None) -> list[Any]:
        composed = sql.SQL(statement).format(per_thread=per_thread, **names)
        return database.connection.execute(composed, params).fetchall()

    with storage_errors():
        largest = rows(_LARGEST, {"most": LARGEST})
        growth = rows(_GROWTH, {"steps": list(STEPS)})
        oldest, newest = rows(_TIMES)[0]
        kept, open_threads = rows(_NEWEST, {})[0]
    return _usage(largest, growth, kept=kept, open_threads=open_threads, times=(oldest, newest), digest=digest)


def _of_sqlite(database: SqliteDatabase, digest: Digest) -> Usage:
    sizes = database.connection.execute(_PER_THREAD_OF_FILE).fetchall()
    sizes.sort(key=lambda row: -row[2])
    growth: dict[int | None, list[int]] = {}
    for _, checkpoints, size in sizes:
        step = next((each for each in STEPS if each >= checkpoints), None)
        counted = growth.setdefault(step, [0, 0, 0])
        growth[step] = [counted[0] + 1, counted[1] + size, counted[2] + checkpoints]
    kept = database.connection.execute(_KEPT_OF_FILE).fetchone()[0]
    steps = [(step, *counted) for step, counted in sorted(growth.items(), key=lambda item: item[0] or 10**9)]
    return _usage(sizes[:LARGEST], steps, kept=kept, open_threads=0, times=(None, None), digest=digest)


def _usage(
    largest: Sequence[Any],
    growth: Sequence[Any],
    *,
    kept: int,
    open_threads: int,
    times: tuple[str | None, str | None],
    digest: Digest,
) -> Usage:
    total = sum(row[2] or 0 for row in growth)
    return Usage(
        threads=sum(row[1] for row in growth),
        checkpoints=int(sum(row[3] for row in growth)),
        bytes=total,
        prunable_bytes=max(0, total - kept),
        open_threads=open_threads,
        oldest=_moment(times[0]),
        newest=_moment(times[1]),
        largest=[ThreadSize(thread=digest(row[0]), checkpoints=row[1], bytes=row[2]) for row in largest],
        growth=[
            GrowthStep(checkpoints=row[0] or STEPS[-1] * 10, threads=row[1], mean_bytes=(row[2] or 0) // max(1, row[1]))
            for row in growth
        ],
    )


def _moment(text: str | None) -> datetime | None:
    try:
        at = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at
