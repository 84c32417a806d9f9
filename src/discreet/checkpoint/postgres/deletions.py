"""Deleting and copying checkpoints with all that hangs on them: a reader sees all of it or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from discreet.checkpoint.postgres import threads
from discreet.checkpoint.postgres.message_rows import MESSAGE_ROWS
from discreet.checkpoint.postgres.row_security import THREADS_OF_RUNS
from discreet.checkpoint.postgres.statements import Statement

if TYPE_CHECKING:
    from discreet.checkpoint.postgres.puts import Steps  # which imports this

KEPT_ROWS = f"""
    SELECT k.checkpoint_ns, r.run ->> 0 AS channel,
        range_agg(int4range((r.run ->> 1)::int, (r.run ->> 2)::int, '[]')) AS positions
    FROM kept k CROSS JOIN LATERAL jsonb_array_elements(k.checkpoint -> '{MESSAGE_ROWS}') AS r(run)
    GROUP BY k.checkpoint_ns, r.run ->> 0
"""

IS_KEPT = """EXISTS (
        SELECT FROM kept_rows k
        WHERE k.checkpoint_ns = m.checkpoint_ns AND k.channel = m.channel AND k.positions @> m.position
    )"""

_DELETE_FOR_RUNS = f"""
WITH gone AS (
    DELETE FROM checkpoints
    WHERE thread_id = %(thread_id)s AND metadata ->> 'run_id' = ANY(%(run_ids)s)
    RETURNING checkpoint_ns, checkpoint_id, checkpoint
),
places AS (
    SELECT DISTINCT checkpoint_ns FROM gone
),
kept AS (
    SELECT c.checkpoint_ns, c.checkpoint_id, c.checkpoint
    FROM places p CROSS JOIN LATERAL (
        SELECT checkpoint_ns, checkpoint_id, checkpoint FROM checkpoints
        WHERE thread_id = %(thread_id)s AND checkpoint_ns = p.checkpoint_ns
            AND COALESCE(metadata ->> 'run_id', '') <> ALL(%(run_ids)s)
        OFFSET 0
    ) c
),
freed AS (
    SELECT g.checkpoint_ns, v.key, v.value
    FROM gone g CROSS JOIN LATERAL jsonb_each_text(g.checkpoint -> 'channel_versions') v
    EXCEPT
    SELECT k.checkpoint_ns, v.key, v.value
    FROM kept k CROSS JOIN LATERAL jsonb_each_text(k.checkpoint -> 'channel_versions') v
),
kept_rows AS ({KEPT_ROWS}),
forgotten AS (
    DELETE FROM checkpoint_messages m USING places p
    WHERE m.thread_id = %(thread_id)s AND m.checkpoint_ns = p.checkpoint_ns AND NOT {IS_KEPT}
),
unwritten AS (
    DELETE FROM checkpoint_writes w USING gone g
    WHERE w.thread_id = %(thread_id)s AND w.checkpoint_ns = g.checkpoint_ns AND w.checkpoint_id = g.checkpoint_id
),
unused AS (
    DELETE FROM checkpoint_blobs b USING freed f
    WHERE b.thread_id = %(thread_id)s AND b.checkpoint_ns = f.checkpoint_ns AND b.channel = f.key AND b.version = f.value
)
UPDATE checkpoints c SET parent_checkpoint_id = NULL
FROM kept k, gone g
WHERE c.thread_id = %(thread_id)s AND c.checkpoint_ns = k.checkpoint_ns AND c.checkpoint_id = k.checkpoint_id
    AND g.checkpoint_ns = c.checkpoint_ns AND g.checkpoint_id = c.parent_checkpoint_id
"""
"""One statement a thread, so that a reader sees all of a run or nothing. Blobs and messages that a kept checkpoint shares stay."""

_DELETE_ROWS = """
forgotten AS (DELETE FROM checkpoint_messages WHERE thread_id = %(thread_id)s),
unwritten AS (DELETE FROM checkpoint_writes WHERE thread_id = %(thread_id)s),
freed AS (DELETE FROM checkpoint_blobs WHERE thread_id = %(thread_id)s),
gone AS (DELETE FROM checkpoints WHERE thread_id = %(thread_id)s RETURNING thread_id)
"""
_DELETE_THREAD = f"WITH buried AS ({threads.BURY}), {_DELETE_ROWS} SELECT EXISTS (SELECT FROM gone) AS late"
_DELETE_LATE = f"WITH {_DELETE_ROWS.lstrip()} SELECT EXISTS (SELECT FROM gone) AS late"

LATE_PASSES = 20
"""How often a deletion looks at most for what was stored while it ran, until there is nothing. A pass may meet writes under way,
children of what it takes, which it waits for; the next takes these. Of runs none can follow; see `threads`."""


def delete_threads(thread_ids: Sequence[str]) -> Steps[None]:
    """Delete whole threads, and what their runs store meanwhile. What they store later is refused."""
    for thread_id in map(str, thread_ids):
        params = {"thread_id": thread_id}
        yield Statement(_DELETE_THREAD, params, returns=True)
        for _ in range(LATE_PASSES):
            answer = yield Statement(_DELETE_LATE, params, returns=True)
            if not (answer and answer[0]["late"]):
                break
    yield from sweep()


def sweep() -> Steps[None]:
    """Take away some tombstones whose time is over."""
    answer = yield Statement(threads.OVERDUE, returns=True, of_all=True)
    if answer:
        yield Statement(threads.SWEEP, {"thread_ids": [row["thread_id"] for row in answer]})


def delete_thread(thread_id: str) -> Statement:
    """Delete a whole thread, whose row is locked so that nothing is stored meanwhile."""
    return Statement(_DELETE_THREAD, {"thread_id": thread_id}, returns=True)


def last_deletion(thread_id: str) -> Statement:
    """Return when a thread was last deleted, if that was not long ago, and the time of the answer."""
    return Statement(threads.DELETION_OF, {"thread_id": str(thread_id)}, returns=True)


@dataclass
class Deletions:
    """When threads were last deleted, as far as that was not long ago."""

    times: dict[str, datetime] = field(default_factory=dict)
    read_at: datetime | None = None
    """By the database's clock. None: nothing was read."""

    @property
    def last(self) -> datetime | None:
        """The last of the times."""
        return max(self.times.values(), default=None)

    def add(self, thread_id: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add what `last_deletion` gave of a thread."""
        for row in rows:
            self.read_at = row["read_at"]
            if row["deleted_at"] is not None:
                self.times[thread_id] = row["deleted_at"]


def delete_for_runs(run_ids: Sequence[str]) -> Steps[list[str]]:
    """Delete the checkpoints of these runs with their writes, and what nothing else uses. Return the threads."""
    runs = list(map(str, run_ids))
    answer = yield Statement(THREADS_OF_RUNS, {"run_ids": runs}, returns=True)
    found = [str(row["thread_id"]) for row in answer or ()]
    for thread_id in found:
        yield Statement(_DELETE_FOR_RUNS, {"thread_id": thread_id, "run_ids": runs})
    return found
