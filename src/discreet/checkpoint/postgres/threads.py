"""The SQL of the row that each thread has: whose it is, and when it was deleted. No late write brings a thread back.

A thread belongs to the user of the run that stores its first checkpoint. Where no user is known it has a key of its own, and belongs to
the first user who comes. No other row says whose it is: whoever knows the id of a thread reads all of it, as LangGraph has it, and
finds nobody's key there (`owner` is a digest of it).

A deletion leaves the row as a tombstone, of nobody, in the statement that deletes. What stores holds the row FOR SHARE; and
since the statement that stores may have begun before the deletion was committed, and can't see it, both take the same row
locks:

* Who stores a child of a checkpoint, or writes at one, locks that checkpoint. A deletion waits for it, or takes the row
  away from it; then nothing is stored, and the next attempt sees the tombstone.
* Who stores the first checkpoint of a thread has no such row. It makes that of the thread: a deletion waits for it, and it
  for a deletion.

A tombstone stands for a day, longer than a run takes; then the last that is known of the thread, its id, is deleted too.

What was stored while a deletion waited is deleted by the deletion's next statements; see `deletions.delete_threads`. They come
to an end: once the tombstone is committed, a run that began before it stores no more, though what it goes on from may still be
there for a moment.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final
from uuid import UUID

from discreet.shown_keys import shown_key

LIFE = timedelta(days=1)
"""How long a tombstone stands. What an older run stores is stored."""

SWEEP_LIMIT = 100
"""Tombstones whose time is over that a deletion or `setup` takes away: more than it adds."""

ALWAYS = "infinity"
"""Of a write that belongs to no run: it begins what it stores, or goes on from what is there."""
NEVER = "-infinity"
"""Of a run that began before any deletion."""

NOBODY: Final = UUID(int=0)
"""Owner of a tombstone, and of what another saver stored."""
_NOBODY = f"'{NOBODY}'::uuid"
_OWNER_NOBODY = f"'{shown_key(NOBODY)}'::uuid"
"""As the column `owner` has it."""

_LIFE = f"interval '{LIFE.total_seconds():.0f} seconds'"
OVER = f"deleted_at <= now() - {_LIFE}"
"""Of a tombstone."""
_LIVE = f"deleted_at > now() - {_LIFE}"


def mark_of(user_key: UUID) -> str:
    """Return the thread_id of a tombstone that says when a user was erased last.

    An erasure leaves it before it looks which threads there are; who has stored the first checkpoint of a thread looks for it. So
    one of them sees the other.
    """
    return f"erased:{user_key}"


FENCE = f"""
base AS MATERIALIZED (
    SELECT checkpoint_id FROM checkpoints
    WHERE thread_id = %(thread_id)s AND checkpoint_ns = %(checkpoint_ns)s AND checkpoint_id = %(base)s
    FOR KEY SHARE
),
thread AS MATERIALIZED (
    SELECT thread_id, owner, deleted_at FROM checkpoint_threads
    WHERE thread_id = %(thread_id)s
    FOR SHARE
),
made AS (
    INSERT INTO checkpoint_threads (thread_id, user_key)
    SELECT %(thread_id)s, %(user_key)s
    WHERE NOT EXISTS (SELECT FROM thread)
    ON CONFLICT (thread_id) DO NOTHING
    RETURNING thread_id
),
allowed AS MATERIALIZED (
    SELECT true AS is_so
    WHERE NOT EXISTS (SELECT FROM thread WHERE {_LIVE} AND deleted_at > %(since)s::timestamptz) AND (
        EXISTS (SELECT FROM base) OR EXISTS (SELECT FROM made)
        OR EXISTS (SELECT FROM thread WHERE deleted_at IS NULL OR {OVER} OR %(base)s::text IS NULL)
    )
)
"""
"""Common table expressions: `allowed` has a row if this may be stored; `thread` says what forbids it.

`base` is the checkpoint that this hangs on, if any, `since` the last deletion that its run knows of, and `user_key` whose the
thread is if it is new.
"""

RETURNED = f"""
returned AS (
    UPDATE checkpoint_threads SET user_key = %(user_key)s
    WHERE thread_id = %(thread_id)s AND owner = {_OWNER_NOBODY} AND EXISTS (SELECT FROM allowed)
)
"""
"""A common table expression: a thread that was deleted and begins anew has an owner."""

ANSWER = f"""
    EXISTS (SELECT FROM allowed) AS allowed,
    (SELECT deleted_at FROM thread WHERE {_LIVE}) AS deleted_at
"""
"""Columns for the end of a statement with `FENCE`. Not allowed by no tombstone: a deletion has just been committed."""

OWNER = f"""
    (SELECT owner FROM thread) AS owner,
    EXISTS (SELECT FROM made) AS is_new,
    EXISTS (SELECT FROM thread WHERE owner = {_OWNER_NOBODY}) AS was_nobodys
"""

ADOPT = """
UPDATE checkpoint_threads SET user_key = %(user_key)s WHERE thread_id = %(thread_id)s AND owner = %(of_thread)s
"""
"""Give a user a thread that is its own: `of_thread` is what `owner` has then."""

OWNER_OF_SOURCE = "SELECT user_key, oldest_at FROM checkpoint_threads WHERE thread_id = %(source)s"

OWN_COPY = """
INSERT INTO checkpoint_threads AS t (thread_id, user_key, oldest_at)
VALUES (%(target)s, %(user_key)s, %(oldest_at)s::timestamptz)
ON CONFLICT (thread_id) DO UPDATE SET user_key = EXCLUDED.user_key, oldest_at = EXCLUDED.oldest_at
WHERE t.deleted_at IS NOT NULL
"""
"""A copy is the source's owner's."""

LAST_DELETION = f"""(
    SELECT deleted_at FROM checkpoint_threads
    WHERE checkpoint_threads.thread_id = checkpoints.thread_id AND {_LIVE}
) AS deleted_at,
    clock_timestamp() AS read_at"""
"""Columns of what is read from `checkpoints`."""

DELETION_OF = f"""
SELECT max(deleted_at) AS deleted_at, clock_timestamp() AS read_at
FROM checkpoint_threads WHERE thread_id = %(thread_id)s AND {_LIVE}
"""
"""One row, also of a thread that was not deleted, or not lately."""

BURY = f"""
    INSERT INTO checkpoint_threads AS t (thread_id, user_key, deleted_at)
    VALUES (%(thread_id)s, {_NOBODY}, clock_timestamp())
    ON CONFLICT (thread_id) DO UPDATE SET
        user_key = {_NOBODY},
        deleted_at = GREATEST(
            EXCLUDED.deleted_at, (t.deleted_at AT TIME ZONE 'UTC' + interval '1 microsecond') AT TIME ZONE 'UTC'
        )
"""
"""Leave a tombstone, later than any that was there. Added up in UTC, where the sum doesn't depend on the session."""

OVERDUE = f"""
SELECT thread_id FROM checkpoint_threads
WHERE user_key = {_NOBODY} AND {OVER}
ORDER BY deleted_at
LIMIT {SWEEP_LIMIT}
"""

SWEEP = f"""
DELETE FROM checkpoint_threads WHERE thread_id = ANY(%(thread_ids)s) AND user_key = {_NOBODY} AND {OVER}
"""
