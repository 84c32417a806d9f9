"""The SQL that keeps a deleted thread deleted: no run that was under way when it went may bring it back.

A deletion leaves a tombstone, in the statement that deletes. What stores looks for one; and since the statement that
stores may have begun before the deletion was committed, and can't see it, both take the same row locks:

* Who stores a child of a checkpoint, or writes at one, locks that checkpoint. A deletion waits for it, or takes the row
  away from it; then nothing is stored, and the next attempt sees the tombstone.
* Who stores the first checkpoint of a thread has no such row. It locks the thread's tombstone, or inserts one whose time
  is over already: a deletion waits for it, and it for a deletion.

It has a digest of the thread's id: who deletes a thread leaves not even its name.

What was stored while a deletion waited is deleted by the deletion's next statements; see `deletions.delete_threads`. They come
to an end: once the tombstone is committed, a run that began before it stores no more, though what it goes on from may still be
there for a moment.
"""

from __future__ import annotations

from datetime import timedelta

LIFE = timedelta(days=1)
"""How long a tombstone stands: longer than a run takes. What an older run stores is stored."""

SWEEP_LIMIT = 10
"""Tombstones whose time is over that a first checkpoint or a deletion takes away: more than it adds."""

ALWAYS = "infinity"
"""Of a write that belongs to no run: it begins what it stores, or goes on from what is there."""
NEVER = "-infinity"
"""Of a run that began before any deletion."""

_OWN = "sha256(convert_to(%(thread_id)s, 'UTF8'))"
_LIFE = f"interval '{LIFE.total_seconds():.0f} seconds'"
_OVER = f"deleted_at <= now() - {_LIFE}"
_LIVE = f"deleted_at > now() - {_LIFE}"

SWEEP = f"""
    DELETE FROM checkpoint_tombstones WHERE digest = ANY (ARRAY(
        SELECT digest FROM checkpoint_tombstones
        WHERE {_OVER}
        ORDER BY deleted_at
        LIMIT {SWEEP_LIMIT}
        FOR UPDATE SKIP LOCKED
    ))
"""  # noqa: S608  # constants

FENCE = f"""
base AS MATERIALIZED (
    SELECT checkpoint_id FROM checkpoints
    WHERE thread_id = %(thread_id)s AND checkpoint_ns = %(checkpoint_ns)s AND checkpoint_id = %(base)s
    FOR KEY SHARE
),
tombstone AS MATERIALIZED (
    SELECT deleted_at FROM checkpoint_tombstones
    WHERE digest = {_OWN}
    FOR SHARE
),
locked AS (
    INSERT INTO checkpoint_tombstones (digest, deleted_at)
    SELECT {_OWN}, 'epoch'
    WHERE NOT EXISTS (SELECT FROM base) AND NOT EXISTS (SELECT FROM tombstone)
    ON CONFLICT (digest) DO NOTHING
    RETURNING digest
),
swept AS (
    DELETE FROM checkpoint_tombstones WHERE digest = ANY (ARRAY(
        SELECT digest FROM checkpoint_tombstones
        WHERE {_OVER} AND digest <> {_OWN} AND EXISTS (SELECT FROM locked)
        ORDER BY deleted_at
        LIMIT {SWEEP_LIMIT}
        FOR UPDATE SKIP LOCKED
    ))
),
allowed AS MATERIALIZED (
    SELECT
    WHERE NOT EXISTS (SELECT FROM tombstone WHERE {_LIVE} AND deleted_at > %(since)s::timestamptz) AND (
        EXISTS (SELECT FROM base) OR EXISTS (SELECT FROM locked)
        OR EXISTS (SELECT FROM tombstone WHERE {_OVER} OR %(base)s::text IS NULL)
    )
)
"""  # noqa: S608  # constants
"""Common table expressions: `allowed` has a row if this may be stored, and `tombstone` says what forbids it.

`base` is the checkpoint that this hangs on, if any, and `since` the last deletion that its run knows of.
"""

ANSWER = f"""
    EXISTS (SELECT FROM allowed) AS allowed,
    (SELECT deleted_at FROM tombstone WHERE {_LIVE}) AS deleted_at
"""  # noqa: S608  # constants
"""Columns for the end of a statement with `FENCE`. Not allowed by no tombstone: a deletion has just been committed."""

LAST_DELETION = f"""(
    SELECT deleted_at FROM checkpoint_tombstones
    WHERE digest = sha256(convert_to(checkpoints.thread_id, 'UTF8')) AND {_LIVE}
) AS deleted_at"""  # noqa: S608  # constants
"""A column of what is read from `checkpoints`."""

LAST_DELETIONS = f"""
SELECT d.thread_id, t.deleted_at FROM unnest(%(thread_ids)s::text[]) AS d(thread_id)
JOIN checkpoint_tombstones t ON t.digest = sha256(convert_to(d.thread_id, 'UTF8'))
WHERE {_LIVE}
"""  # noqa: S608  # constants

BURY = """
    INSERT INTO checkpoint_tombstones AS t (digest, deleted_at)
    SELECT digest, clock_timestamp() FROM (
        SELECT DISTINCT sha256(convert_to(thread_id, 'UTF8')) AS digest
        FROM unnest(%(thread_ids)s::text[]) AS d(thread_id)
    ) AS dead
    ORDER BY digest
    ON CONFLICT (digest)
    DO UPDATE SET deleted_at = GREATEST(EXCLUDED.deleted_at, t.deleted_at + interval '1 microsecond')
"""
"""Leave a tombstone for each thread, later than any that was there."""
