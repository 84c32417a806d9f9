"""The SQL of the durable tier, one statement an operation: it takes effect whole or not at all, in one round trip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from discreet.checkpoint.postgres import threads
from discreet.checkpoint.postgres.message_rows import MESSAGE_ROWS


class Statement(NamedTuple):
    """One statement to run."""

    sql: str
    params: Mapping[str, Any] | None = None
    returns: bool = False
    """Whether rows come back."""
    of_all: bool = False
    """Whether it is about all threads: where the database keeps users apart it is left to the worker, and returns nothing."""


_EXPAND_RUNS = f"""(
    SELECT string_agg(concat_ws(' ', r.number, m.position, m.kind || CASE WHEN m.tool IS NULL THEN '' ELSE ':' END), ' ')
        || array_agg(m.message_id) || array_agg(m.content) || array_agg(m.tool) FILTER (WHERE m.tool IS NOT NULL)
    FROM jsonb_array_elements(checkpoints.checkpoint -> '{MESSAGE_ROWS}') WITH ORDINALITY AS r(run, number)
    CROSS JOIN LATERAL (
        SELECT position, message_id, kind, content, tool
        FROM checkpoint_messages
        WHERE thread_id = checkpoints.thread_id AND checkpoint_ns = checkpoints.checkpoint_ns
            AND channel = r.run ->> 0 AND position BETWEEN (r.run ->> 1)::int AND (r.run ->> 2)::int
        ORDER BY position
        OFFSET 0
    ) AS m
) AS {MESSAGE_ROWS}"""
"""A column of all messages, run by run: `<run> <position> <kind>` of each in one string, then the ids, then the texts, then what is kept of calls
and results of tools, of those whose kind ends with a colon.

One array of strings, which costs both sides least: composites take the server twice as long, and arrays of arrays keep
Python's garbage collector busy. OFFSET 0 keeps the planner to an index scan a run, one run after the other, so that the rows
come in their order; to sort them would take a sixth of the time.
"""

SELECT = f"""
SELECT
    thread_id, checkpoint, checkpoint_ns, checkpoint_id, parent_checkpoint_id, metadata,
    (
        SELECT array_agg(ARRAY[convert_to(b.channel, 'UTF8'), b.type::bytea, b.blob])
        FROM jsonb_each_text(checkpoint -> 'channel_versions') AS named (channel, version)
        INNER JOIN checkpoint_blobs b ON b.thread_id = checkpoints.thread_id AND b.checkpoint_ns = checkpoints.checkpoint_ns
            AND b.channel = named.channel AND b.version = named.version
    ) AS channel_values,
    (
        SELECT array_agg(ARRAY[
            convert_to(w.task_id, 'UTF8'), convert_to(w.channel, 'UTF8'), w.type::bytea, w.blob, convert_to(w.task_path, 'UTF8'),
            w.idx::text::bytea
        ])
        FROM checkpoint_writes w
        WHERE w.thread_id = checkpoints.thread_id AND w.checkpoint_ns = checkpoints.checkpoint_ns
            AND w.checkpoint_id = checkpoints.checkpoint_id
    ) AS pending_writes,
    {_EXPAND_RUNS},
    {threads.LAST_DELETION}
FROM checkpoints """
"""Checkpoints with their values, the writes at them, the messages, and when the thread was last deleted. A WHERE clause follows."""

LISTED = (
    "SELECT thread_id, checkpoint_ns AS ns, checkpoint_id FROM checkpoints {where} ORDER BY checkpoint_id DESC LIMIT %s"
)
"""Where the checkpoints of a page are, of all threads."""

IS_SHARED = """
SELECT NOT EXISTS (
    SELECT FROM pg_constraint c JOIN pg_namespace n ON n.oid = c.connamespace
    WHERE c.conname = 'checkpoint_blobs_guard' AND n.nspname = %(schema)s
) AS shared
"""
"""Whether other savers may use these tables too: a guard would refuse what they write."""

READ_ROWS = f"""
SELECT
    found.checkpoint_id,
    found.checkpoint,
    found.{MESSAGE_ROWS},
    ARRAY(
        SELECT COALESCE(taken.position, -1)
        FROM unnest(%(channels)s::text[]) WITH ORDINALITY AS c(channel, number)
        LEFT JOIN LATERAL (
            SELECT position FROM checkpoint_messages
            WHERE thread_id = %(thread_id)s AND checkpoint_ns = %(checkpoint_ns)s AND channel = c.channel
            ORDER BY position DESC LIMIT 1
        ) AS taken ON true
        ORDER BY c.number
    ) AS tops
FROM (VALUES (1)) AS always(one)
LEFT JOIN LATERAL (
    SELECT
        checkpoint_id,
        jsonb_build_object('{MESSAGE_ROWS}', checkpoint -> '{MESSAGE_ROWS}') AS checkpoint,
        {_EXPAND_RUNS.replace("checkpoints.thread_id", "%(thread_id)s")}
    FROM checkpoints
    WHERE thread_id = %(thread_id)s AND checkpoint_ns = %(checkpoint_ns)s
        AND checkpoint_id IN (%(checkpoint_id)s, %(base)s)
    ORDER BY checkpoint_id = %(checkpoint_id)s DESC
    LIMIT 1
) AS found ON true
"""
"""The rows of a checkpoint that is there already, or else of its parent, and the highest position of each channel."""

PUT = f"""
WITH {threads.FENCE},
{threads.RETURNED},
ready AS (
    SELECT is_so FROM allowed WHERE %(source)s::text IS NULL OR EXISTS (
        SELECT FROM checkpoints
        WHERE thread_id = %(thread_id)s AND checkpoint_ns = %(checkpoint_ns)s AND checkpoint_id = %(source)s
    )
),
new_blobs AS (
    INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
    SELECT %(thread_id)s, %(checkpoint_ns)s, b.channel, b.version, b.type, b.blob
    FROM ready CROSS JOIN unnest(
        %(blob_channels)s::text[], %(blob_versions)s::text[], %(blob_types)s::text[], %(blobs)s::bytea[]
    ) AS b(channel, version, type, blob)
    ON CONFLICT (thread_id, checkpoint_ns, channel, version) DO NOTHING
    RETURNING channel
),
new_messages AS (
    INSERT INTO checkpoint_messages (thread_id, checkpoint_ns, channel, position, message_id, kind, content, tool)
    SELECT %(thread_id)s, %(checkpoint_ns)s, m.channel, m.position, m.message_id, m.kind, m.content, m.tool
    FROM ready CROSS JOIN json_to_recordset(%(messages)s::json)
        AS m(channel text, position int, message_id text, kind text, content text, tool text)
    RETURNING channel
),
named AS (
    UPDATE checkpoint_messages AS row SET message_id = m.message_id
    FROM ready CROSS JOIN json_to_recordset(%(named)s::json) AS m(channel text, position int, message_id text)
    WHERE row.thread_id = %(thread_id)s AND row.checkpoint_ns = %(checkpoint_ns)s AND row.channel = m.channel
      AND row.position = m.position AND row.message_id IS NULL
    RETURNING row.channel
),
stored AS (
    INSERT INTO checkpoints
        (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
    SELECT %(thread_id)s, %(checkpoint_ns)s, %(checkpoint_id)s, %(base)s, %(checkpoint)s, %(metadata)s
    FROM ready
    ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id)
    DO UPDATE SET checkpoint = EXCLUDED.checkpoint, metadata = EXCLUDED.metadata
    RETURNING checkpoint_id
)
SELECT EXISTS (SELECT FROM stored) AS stored, {threads.OWNER}, {threads.ANSWER}
"""
"""Nothing is stored if the checkpoint whose rows are reused (`source`) is gone meanwhile, or the thread was deleted. Each INSERT returns something:
a cluster makes a COPY of one that doesn't, which row-level security refuses."""

_PUT_WRITES = """
WITH {fence},
stored AS (
    INSERT INTO checkpoint_writes
        (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
    SELECT %(thread_id)s, %(checkpoint_ns)s, %(base)s, %(task_id)s, %(task_path)s, w.idx, w.channel, w.type, w.blob
    FROM allowed CROSS JOIN unnest(
        %(idxs)s::int[], %(channels)s::text[], %(types)s::text[], %(blobs)s::bytea[]
    ) AS w(idx, channel, type, blob)
    ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) {conflict}
    RETURNING idx
)
SELECT {answer}
"""
INSERT_WRITES = _PUT_WRITES.format(fence=threads.FENCE, answer=threads.ANSWER, conflict="DO NOTHING")
"""A task's outputs. Those that are there stay."""
UPSERT_WRITES = _PUT_WRITES.format(
    fence=threads.FENCE,
    answer=threads.ANSWER,
    conflict="DO UPDATE SET channel = EXCLUDED.channel, type = EXCLUDED.type, blob = EXCLUDED.blob",
)
"""What has a slot of its own, an error or an interrupt. The newest stays."""
