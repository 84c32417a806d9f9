"""Pruning threads: what is there is read, `pruning` chooses, and what goes is deleted in one statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.checkpoint.serde.types import TASKS

from discreet.checkpoint.channels import MARKS
from discreet.checkpoint.checkpoint_ref import CheckpointRef
from discreet.checkpoint.postgres.deletions import IS_KEPT, KEPT_ROWS, delete_threads
from discreet.checkpoint.postgres.puts import Steps
from discreet.checkpoint.postgres.statements import Statement
from discreet.checkpoint.pruning import DELETE, Pruning, Row, moment

_FORGOTTEN = f"""
kept_rows AS ({KEPT_ROWS}),
forgotten AS (
    DELETE FROM checkpoint_messages m WHERE m.thread_id = %(thread_id)s AND NOT {IS_KEPT}
),"""

_PRUNE = """
WITH chosen AS (
    SELECT checkpoint_ns, checkpoint_id
    FROM unnest(%(spaces)s::text[], %(checkpoints)s::text[]) AS c(checkpoint_ns, checkpoint_id)
),
kept AS (
    SELECT c.checkpoint_ns, c.checkpoint_id, c.checkpoint FROM checkpoints c
    WHERE c.thread_id = %(thread_id)s AND NOT EXISTS (
        SELECT FROM chosen g WHERE g.checkpoint_ns = c.checkpoint_ns AND g.checkpoint_id = c.checkpoint_id
    )
),
head AS (
    SELECT max(checkpoint_id) AS checkpoint_id FROM kept
),
used AS (
    SELECT DISTINCT k.checkpoint_ns, v.key AS channel, v.value AS version
    FROM kept k CROSS JOIN LATERAL jsonb_each_text(k.checkpoint -> 'channel_versions') v
),
{forgotten}
gone AS (
    DELETE FROM checkpoints c USING chosen g
    WHERE c.thread_id = %(thread_id)s AND c.checkpoint_ns = g.checkpoint_ns AND c.checkpoint_id = g.checkpoint_id
),
unwritten AS (
    DELETE FROM checkpoint_writes w USING head h
    WHERE w.thread_id = %(thread_id)s AND w.checkpoint_id < h.checkpoint_id
        AND NOT EXISTS (
            SELECT FROM kept k WHERE k.checkpoint_ns = w.checkpoint_ns AND k.checkpoint_id = w.checkpoint_id
        )
),
unused AS (
    DELETE FROM checkpoint_blobs b WHERE b.thread_id = %(thread_id)s AND NOT EXISTS (
        SELECT FROM used u
        WHERE u.checkpoint_ns = b.checkpoint_ns AND u.channel = b.channel AND u.version = b.version
    )
)
UPDATE checkpoints c SET parent_checkpoint_id = NULL
FROM kept k, chosen g
WHERE c.thread_id = %(thread_id)s AND c.checkpoint_ns = k.checkpoint_ns AND c.checkpoint_id = k.checkpoint_id
    AND g.checkpoint_ns = c.checkpoint_ns AND g.checkpoint_id = c.parent_checkpoint_id
"""
_PRUNE_ROWS = _PRUNE.format(forgotten=_FORGOTTEN)
_PRUNE_STOCK_ROWS = _PRUNE.format(forgotten="")
"""Delete the chosen checkpoints of a thread and all that nothing in it uses, whoever stored it.

Writes of a run that is under way may come before their checkpoint: they are newer than whatever is stored.
"""

_READ_ROWS_TO_PRUNE = f"""
SELECT
    thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id,
    metadata ->> 'run_id' AS run_id,
    metadata -> 'parents' ->> '' AS root_id,
    metadata ->> 'source' AS source,
    COALESCE(metadata -> 'unfinished' = 'true', false) AS unfinished,
    checkpoint #>> ARRAY['versions_seen', '{MARKS}', checkpoint_id] IS NOT NULL AS redacted,
    COALESCE(checkpoint ->> 'ts', '') AS made_at,
    metadata ? 'counters_since_delta_snapshot' AS delta,
    metadata ? 'delta_writes_versioned' AS delta_thread,
    (checkpoint ->> 'v')::int < 4 AND EXISTS (
        SELECT FROM checkpoint_writes w
        WHERE w.thread_id = %(thread_id)s AND w.checkpoint_ns = c.checkpoint_ns
            AND w.checkpoint_id = c.parent_checkpoint_id AND w.channel = '{TASKS}'
    ) AS sends_in_parent
FROM checkpoints c
WHERE thread_id = %(thread_id)s
"""


def prune(thread_ids: Sequence[str], policy: Pruning) -> Steps[None]:
    """Delete of these threads what `policy` says, of each in one statement.

    Raises:
        NotImplementedError: See `Pruning.gone`. Nothing is deleted.
    """
    threads = list(dict.fromkeys(map(str, thread_ids)))
    if policy.strategy == DELETE:
        yield from delete_threads(threads)
        return
    gone: dict[str, list[Row]] = {}
    for thread_id in threads:
        answer = yield rows_to_prune(thread_id)
        if rows := [*map(row_of, answer or ())]:
            gone[thread_id] = policy.gone(rows)
    for thread_id, chosen in gone.items():
        yield prune_rows(thread_id, chosen)


def rows_to_prune(thread_id: str) -> Statement:
    """Return what decides about the checkpoints of a thread, for `row_of`."""
    return Statement(_READ_ROWS_TO_PRUNE, {"thread_id": thread_id}, returns=True)


def prune_rows(thread_id: str, gone: Sequence[Row], *, stock: bool = False) -> Statement:
    """Delete these checkpoints, and what nothing in the thread uses then. `stock` tables have no rows of messages."""
    params = {
        "thread_id": thread_id,
        "spaces": [item.place.ns for item in gone],
        "checkpoints": [item.place.checkpoint_id for item in gone],
    }
    return Statement(_PRUNE_STOCK_ROWS if stock else _PRUNE_ROWS, params)


def row_of(found: Mapping[str, Any]) -> Row:
    """Return what a row of `rows_to_prune` says."""
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
