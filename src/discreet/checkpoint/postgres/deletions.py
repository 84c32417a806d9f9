"""Deleting and copying checkpoints with all that hangs on them: a reader sees all of it or nothing."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.checkpoint.postgres import tombstones
from discreet.checkpoint.postgres.message_rows import MESSAGE_ROWS
from discreet.checkpoint.postgres.puts import Steps
from discreet.checkpoint.postgres.statements import Statement

KEPT_ROWS = f"""
    SELECT k.thread_id, k.checkpoint_ns, r.run ->> 0 AS channel,
        range_agg(int4range((r.run ->> 1)::int, (r.run ->> 2)::int, '[]')) AS positions
    FROM kept k CROSS JOIN LATERAL jsonb_array_elements(k.checkpoint -> '{MESSAGE_ROWS}') AS r(run)
    GROUP BY k.thread_id, k.checkpoint_ns, r.run ->> 0
"""  # noqa: S608  # constants

IS_KEPT = """EXISTS (
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
kept_rows AS ({KEPT_ROWS}),
forgotten AS (
    DELETE FROM checkpoint_messages m USING places p
    WHERE m.thread_id = p.thread_id AND m.checkpoint_ns = p.checkpoint_ns AND NOT {IS_KEPT}
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

LATE_PASSES = 20
"""How often a deletion looks at most for what was stored while it ran, until there is nothing. A pass may meet writes under way,
children of what it takes, which it waits for; the next takes these. Of runs none can follow; see `tombstones`."""

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


def copy_thread(source_thread_id: str, target_thread_id: str) -> Statement:
    """Copy a thread. Returns whether it was, which it isn't over other messages."""
    return Statement(_COPY_THREAD, {"source": str(source_thread_id), "target": str(target_thread_id)}, returns=True)
