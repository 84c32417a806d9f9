"""Deleting and copying checkpoints with all that hangs on them, each in one statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.checkpoint.serde.types import TASKS

from discreet.checkpoint.checkpoint_ref import CheckpointRef
from discreet.checkpoint.postgres import tombstones
from discreet.checkpoint.postgres.message_rows import MESSAGE_ROWS
from discreet.checkpoint.postgres.puts import Steps
from discreet.checkpoint.postgres.statements import Statement
from discreet.checkpoint.pruning import DELETE, REDACTED_MARK, Pruning, Row, moment

_KEPT_ROWS = f"""
    SELECT k.thread_id, k.checkpoint_ns, r.run ->> 0 AS channel,
        range_agg(int4range((r.run ->> 1)::int, (r.run ->> 2)::int, '[]')) AS positions
    FROM kept k CROSS JOIN LATERAL jsonb_array_elements(k.checkpoint -> '{MESSAGE_ROWS}') AS r(run)
    GROUP BY k.thread_id, k.checkpoint_ns, r.run ->> 0
"""  # noqa: S608  # constants

_IS_KEPT = """EXISTS (
        SELECT FROM kept_rows k
        WHERE k.thread_id = m.thread_id AND k.checkpoint_ns = m.checkpoint_ns
            AND k.channel = m.channel AND k.positions @> m.position
    )"""

_DELETE_FOR_RUNS = f"""
WITH gone AS (
    DELETE FROM checkpoints
    WHERE metadata ->> 'run_id' = ANY(%(run_ids)s)
    RETURNING thread_id, checkpoint_ns, checkpoint_id, checkpoint
),
places AS (
    SELECT DISTINCT thread_id, checkpoint_ns FROM gone
),
kept AS (
    SELECT c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.checkpoint
    FROM places p CROSS JOIN LATERAL (
        SELECT thread_id, checkpoint_ns, checkpoint_id, checkpoint FROM checkpoints
        WHERE thread_id = p.thread_id AND checkpoint_ns = p.checkpoint_ns
            AND COALESCE(metadata ->> 'run_id', '') <> ALL(%(run_ids)s)
        OFFSET 0
    ) c
),
freed AS (
    SELECT g.thread_id, g.checkpoint_ns, v.key, v.value
    FROM gone g CROSS JOIN LATERAL jsonb_each_text(g.checkpoint -> 'channel_versions') v
    EXCEPT
    SELECT k.thread_id, k.checkpoint_ns, v.key, v.value
    FROM kept k CROSS JOIN LATERAL jsonb_each_text(k.checkpoint -> 'channel_versions') v
),
kept_rows AS ({_KEPT_ROWS}),
forgotten AS (
    DELETE FROM checkpoint_messages m USING places p
    WHERE m.thread_id = p.thread_id AND m.checkpoint_ns = p.checkpoint_ns AND NOT {_IS_KEPT}
),
unwritten AS (
    DELETE FROM checkpoint_writes WHERE ctid = ANY (ARRAY(
        SELECT w.ctid FROM gone g CROSS JOIN LATERAL (
            SELECT ctid FROM checkpoint_writes
            WHERE thread_id = g.thread_id AND checkpoint_ns = g.checkpoint_ns AND checkpoint_id = g.checkpoint_id
            OFFSET 0
        ) w
    ))
),
unused AS (
    DELETE FROM checkpoint_blobs WHERE ctid = ANY (ARRAY(
        SELECT b.ctid FROM freed f CROSS JOIN LATERAL (
            SELECT ctid FROM checkpoint_blobs
            WHERE thread_id = f.thread_id AND checkpoint_ns = f.checkpoint_ns
                AND channel = f.key AND version = f.value
            OFFSET 0
        ) b
    ))
),
orphaned AS (
    UPDATE checkpoints c SET parent_checkpoint_id = NULL
    FROM kept k, gone g
    WHERE c.thread_id = k.thread_id AND c.checkpoint_ns = k.checkpoint_ns AND c.checkpoint_id = k.checkpoint_id
        AND g.thread_id = c.thread_id AND g.checkpoint_ns = c.checkpoint_ns
        AND g.checkpoint_id = c.parent_checkpoint_id
)
SELECT DISTINCT thread_id FROM places
"""  # noqa: S608  # constants
"""One statement, so that a reader sees all of a run or nothing. Blobs and messages that a kept checkpoint shares stay.

OFFSET 0 keeps the planner, whatever it believes of how many rows a JSON document makes, to lookups by primary key.
"""

_DELETE_ROWS = """
forgotten AS (DELETE FROM checkpoint_messages WHERE thread_id = ANY(%(thread_ids)s)),
unwritten AS (DELETE FROM checkpoint_writes WHERE thread_id = ANY(%(thread_ids)s)),
freed AS (DELETE FROM checkpoint_blobs WHERE thread_id = ANY(%(thread_ids)s)),
gone AS (DELETE FROM checkpoints WHERE thread_id = ANY(%(thread_ids)s) RETURNING thread_id)
"""
_DELETE_THREADS = f"WITH buried AS ({tombstones.BURY}), {_DELETE_ROWS} SELECT"
_DELETE_LATE = f"WITH swept AS ({tombstones.SWEEP}), {_DELETE_ROWS} SELECT EXISTS (SELECT FROM gone) AS late"  # noqa: S608  # constants

LATE_PASSES = 2
"""How often a deletion looks for what was stored while it ran. The first pass may meet writes under way, children of
what it takes, which it waits for; the second takes these, and none can follow. See `tombstones`."""

_PRUNE_ROWS = f"""
WITH chosen AS (
    SELECT thread_id, checkpoint_ns, checkpoint_id
    FROM unnest(%(threads)s::text[], %(spaces)s::text[], %(checkpoints)s::text[])
        AS c(thread_id, checkpoint_ns, checkpoint_id)
),
kept AS (
    SELECT c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.checkpoint FROM checkpoints c
    WHERE c.thread_id = ANY(%(thread_ids)s) AND NOT EXISTS (
        SELECT FROM chosen g
        WHERE g.thread_id = c.thread_id AND g.checkpoint_ns = c.checkpoint_ns AND g.checkpoint_id = c.checkpoint_id
    )
),
heads AS (
    SELECT thread_id, max(checkpoint_id) AS checkpoint_id FROM kept GROUP BY thread_id
),
used AS (
    SELECT DISTINCT k.thread_id, k.checkpoint_ns, v.key AS channel, v.value AS version
    FROM kept k CROSS JOIN LATERAL jsonb_each_text(k.checkpoint -> 'channel_versions') v
),
kept_rows AS ({_KEPT_ROWS}),
gone AS (
    DELETE FROM checkpoints c USING chosen g
    WHERE c.thread_id = g.thread_id AND c.checkpoint_ns = g.checkpoint_ns AND c.checkpoint_id = g.checkpoint_id
),
forgotten AS (
    DELETE FROM checkpoint_messages m WHERE m.thread_id = ANY(%(thread_ids)s) AND NOT {_IS_KEPT}
),
unwritten AS (
    DELETE FROM checkpoint_writes w USING heads h
    WHERE w.thread_id = ANY(%(thread_ids)s) AND h.thread_id = w.thread_id AND w.checkpoint_id < h.checkpoint_id
        AND NOT EXISTS (
            SELECT FROM kept k
            WHERE k.thread_id = w.thread_id AND k.checkpoint_ns = w.checkpoint_ns AND k.checkpoint_id = w.checkpoint_id
        )
),
unused AS (
    DELETE FROM checkpoint_blobs b WHERE b.thread_id = ANY(%(thread_ids)s) AND NOT EXISTS (
        SELECT FROM used u
        WHERE u.thread_id = b.thread_id AND u.checkpoint_ns = b.checkpoint_ns
            AND u.channel = b.channel AND u.version = b.version
    )
)
UPDATE checkpoints c SET parent_checkpoint_id = NULL
FROM kept k, chosen g
WHERE c.thread_id = k.thread_id AND c.checkpoint_ns = k.checkpoint_ns AND c.checkpoint_id = k.checkpoint_id
    AND g.thread_id = c.thread_id AND g.checkpoint_ns = c.checkpoint_ns AND g.checkpoint_id = c.parent_checkpoint_id
"""  # noqa: S608  # constants
"""Delete the chosen checkpoints and all that nothing in these threads uses, whoever stored it.

Writes of a run that is under way may come before their checkpoint: they are newer than whatever is stored.
"""

_READ_ROWS_TO_PRUNE = f"""
SELECT
    thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id,
    metadata ->> 'run_id' AS run_id,
    metadata -> 'parents' ->> '' AS root_id,
    metadata ->> 'source' AS source,
    COALESCE(metadata -> 'unfinished' = 'true', false) AS unfinished,
    COALESCE(checkpoint -> '{REDACTED_MARK}' = 'true', false) AS redacted,
    COALESCE(checkpoint ->> 'ts', '') AS made_at,
    metadata ? 'counters_since_delta_snapshot' AS delta,
    metadata ? 'delta_writes_versioned' AS delta_thread,
    (checkpoint ->> 'v')::int < 4 AND EXISTS (
        SELECT FROM checkpoint_writes w
        WHERE w.thread_id = c.thread_id AND w.checkpoint_ns = c.checkpoint_ns
            AND w.checkpoint_id = c.parent_checkpoint_id AND w.channel = '{TASKS}'
    ) AS sends_in_parent
FROM checkpoints c
WHERE thread_id = ANY(%(thread_ids)s)
"""  # noqa: S608  # constants

_COPY_THREAD = """
WITH clash AS (
    SELECT FROM checkpoint_messages s
    JOIN checkpoint_messages t USING (checkpoint_ns, channel, position)
    WHERE s.thread_id = %(source)s AND t.thread_id = %(target)s
        AND (s.message_id, s.kind, s.content) IS DISTINCT FROM (t.message_id, t.kind, t.content)
    LIMIT 1
),
free AS (
    SELECT WHERE NOT EXISTS (SELECT FROM clash)
),
copied AS (
    INSERT INTO checkpoints
        (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
    SELECT %(target)s, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata
    FROM free CROSS JOIN checkpoints WHERE thread_id = %(source)s
    ON CONFLICT DO NOTHING
),
copied_blobs AS (
    INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
    SELECT %(target)s, checkpoint_ns, channel, version, type, blob
    FROM free CROSS JOIN checkpoint_blobs WHERE thread_id = %(source)s
    ON CONFLICT DO NOTHING
),
copied_messages AS (
    INSERT INTO checkpoint_messages
        (thread_id, checkpoint_ns, channel, position, message_id, kind, content, created_at)
    SELECT %(target)s, checkpoint_ns, channel, position, message_id, kind, content, created_at
    FROM free CROSS JOIN checkpoint_messages WHERE thread_id = %(source)s
    ON CONFLICT DO NOTHING
),
copied_writes AS (
    INSERT INTO checkpoint_writes
        (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
    SELECT %(target)s, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob
    FROM free CROSS JOIN checkpoint_writes WHERE thread_id = %(source)s
    ON CONFLICT DO NOTHING
)
SELECT EXISTS (SELECT FROM free) AS copied
"""
"""May be repeated. Nothing is copied over other messages: checkpoints name rows by their positions."""


def delete_threads(thread_ids: Sequence[str]) -> Steps[None]:
    """Delete whole threads, and what their runs store meanwhile. What they store later is refused."""
    params = {"thread_ids": list(map(str, thread_ids))}
    yield Statement(_DELETE_THREADS, params)
    for _ in range(LATE_PASSES):
        answer = yield Statement(_DELETE_LATE, params, returns=True)
        if not (answer and answer[0]["late"]):
            return


def last_deletions(thread_ids: Sequence[str]) -> Statement:
    """Return when these threads were last deleted, those that were not long ago."""
    return Statement(tombstones.LAST_DELETIONS, {"thread_ids": list(map(str, thread_ids))}, returns=True)


def delete_for_runs(run_ids: Sequence[str]) -> Statement:
    """Delete the checkpoints of these runs with their writes, and what nothing else uses. Returns the threads."""
    return Statement(_DELETE_FOR_RUNS, {"run_ids": list(map(str, run_ids))}, returns=True)


def prune(thread_ids: Sequence[str], policy: Pruning) -> Steps[None]:
    """Delete of these threads what `policy` says, in one statement.

    Raises:
        NotImplementedError: See `Pruning.gone`. Nothing is deleted.
    """
    threads = list(dict.fromkeys(map(str, thread_ids)))
    if policy.strategy == DELETE:
        yield from delete_threads(threads)
        return
    answer = yield Statement(_READ_ROWS_TO_PRUNE, {"thread_ids": threads}, returns=True)
    rows: dict[str, list[Row]] = {}
    for item in map(_row, answer or ()):
        rows.setdefault(item.thread_id, []).append(item)
    gone = [item for found in rows.values() for item in policy.gone(found)]
    if rows:
        yield prune_rows(threads, gone)


def prune_rows(thread_ids: Sequence[str], gone: Sequence[Row]) -> Statement:
    """Delete these checkpoints, and what nothing in the threads uses then."""
    params = {
        "thread_ids": list(thread_ids),
        "threads": [item.thread_id for item in gone],
        "spaces": [item.place.ns for item in gone],
        "checkpoints": [item.place.checkpoint_id for item in gone],
    }
    return Statement(_PRUNE_ROWS, params)


def copy_thread(source_thread_id: str, target_thread_id: str) -> Statement:
    """Copy a thread. Returns whether it was, which it isn't over other messages."""
    return Statement(_COPY_THREAD, {"source": str(source_thread_id), "target": str(target_thread_id)}, returns=True)


def _row(found: Mapping[str, Any]) -> Row:
    values = {name: found[name] for name in Row._fields if name in found}
    made_at = moment(found["made_at"])
    return Row(
        **{
            **values,
            "place": CheckpointRef(found["checkpoint_ns"], found["checkpoint_id"]),
            "parent_id": found["parent_checkpoint_id"],
            "made_at": made_at,
        }
    )
