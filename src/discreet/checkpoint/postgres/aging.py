"""Let threads go once they were kept as long as they are kept, and of those that go on what is older.

A thread goes whole when its newest checkpoint is too old. Of a younger one the older checkpoints go. Its newest is where the
thread stands, and stays as it is but for the words of messages that are too old: each keeps its place, kind and id, since graphs
count rounds and summaries know how far they go by them. So the thread can be loaded and gone on with, and says what it was told lately.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, NamedTuple
from uuid import UUID

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

from discreet.checkpoint.postgres import deletions, prunes
from discreet.checkpoint.postgres.async_tier import AsyncPostgresTier
from discreet.checkpoint.postgres.cursors import AsyncTableCursor, table_cursor
from discreet.checkpoint.postgres.schema import THREADS
from discreet.checkpoint.postgres.statements import Statement
from discreet.checkpoint.postgres.threads import LIFE, NOBODY
from discreet.checkpoint.pruning import Pruning, Row, is_root

NO_LONGER_KEPT: Final = "[no longer kept]"
"""Stands where the words of a message were."""

SPILL: Final = "checkpoint_spill"

LATER: Final = timedelta(days=1)
"""When a thread is looked at again that could not be pruned."""

_LIVES: Final = f"(user_key <> '{NOBODY}'::uuid OR deleted_at IS NULL)"
"""It is no tombstone."""

_AGED: Final = f"""
SELECT thread_id, user_key, oldest_at FROM checkpoint_threads
WHERE oldest_at < %(before)s AND {_LIVES}
    AND (oldest_at, thread_id) > (%(after_at)s::timestamptz, %(after)s::text)
ORDER BY oldest_at, thread_id
LIMIT %(limit)s
"""

_LOCK: Final = f"""
SELECT thread_id FROM checkpoint_threads WHERE thread_id = %(thread_id)s AND {_LIVES} FOR UPDATE SKIP LOCKED
"""
"""Who stores holds the row FOR SHARE: none is under way then, and none begins before the end of the transaction."""

_NOTE: Final = "UPDATE checkpoint_threads SET oldest_at = %(oldest_at)s WHERE thread_id = %(thread_id)s"

_MESSAGES: Final = f"""
WITH chosen AS (
    SELECT checkpoint_ns, checkpoint_id
    FROM unnest(%(spaces)s::text[], %(checkpoints)s::text[]) AS c(checkpoint_ns, checkpoint_id)
),
kept AS (
    SELECT c.checkpoint_ns, c.checkpoint FROM checkpoints c
    WHERE c.thread_id = %(thread_id)s AND NOT EXISTS (
        SELECT FROM chosen g WHERE g.checkpoint_ns = c.checkpoint_ns AND g.checkpoint_id = c.checkpoint_id
    )
),
kept_rows AS ({deletions.KEPT_ROWS})
SELECT
    count(*) FILTER (WHERE m.created_at < %(before)s AND m.content <> %(mark)s) AS old,
    min(m.created_at) FILTER (WHERE m.created_at < %(before)s AND m.content <> %(mark)s) AS oldest_at,
    min(m.created_at) FILTER (WHERE m.created_at >= %(before)s) AS next_at
FROM checkpoint_messages m
WHERE m.thread_id = %(thread_id)s AND {deletions.IS_KEPT}
"""
"""Of the messages that checkpoints have which stay."""

_BLANK: Final = """
UPDATE checkpoint_messages SET
    content = %(mark)s,
    tool = CASE WHEN kind = 'ai' THEN (
        SELECT jsonb_agg(c || '{"args": {}}'::jsonb)::text FROM jsonb_array_elements(tool::jsonb) AS c
    ) ELSE tool END
WHERE thread_id = %(thread_id)s AND created_at < %(before)s AND content <> %(mark)s
"""

_WAITS: Final = """
SELECT EXISTS (
    SELECT FROM checkpoint_spill WHERE thread_id = %(thread_id)s AND ended = '' AND expires_at >= %(now)s
) AS waits
"""

_DROP_SPILL: Final = "DELETE FROM checkpoint_spill WHERE thread_id = %(thread_id)s"

_OLD_SPILL: Final = """
SELECT thread_id, expires_at AS due FROM checkpoint_spill WHERE expires_at < %(until)s ORDER BY expires_at LIMIT %(limit)s
"""
_DELETE_OLD_SPILL: Final = """
WITH gone AS (
    DELETE FROM checkpoint_spill WHERE thread_id = %(thread_id)s AND expires_at < %(until)s RETURNING thread_id
)
SELECT count(*) AS rows FROM gone
"""
_COUNT_OLD_SPILL: Final = """
SELECT count(*) AS rows, min(expires_at) AS oldest FROM checkpoint_spill WHERE expires_at < %(until)s
"""

_IS_OLD_TOMBSTONE: Final = f"user_key = '{NOBODY}'::uuid AND deleted_at < %(until)s"
_OLD_TOMBSTONES: Final = f"""
SELECT thread_id FROM checkpoint_threads WHERE {_IS_OLD_TOMBSTONE} ORDER BY deleted_at LIMIT %(limit)s
"""
_DELETE_TOMBSTONES: Final = f"""
DELETE FROM checkpoint_threads WHERE thread_id = ANY (%(thread_ids)s) AND {_IS_OLD_TOMBSTONE}
"""
_COUNT_TOMBSTONES: Final = f"""
SELECT count(*) AS rows, min(deleted_at) AS oldest FROM checkpoint_threads WHERE {_IS_OLD_TOMBSTONE}
"""


@dataclass(frozen=True, kw_only=True)
class Ages:
    """How old is too old."""

    now: datetime
    before: datetime
    """What was made before goes."""
    paused_before: datetime
    """A pause that began before is over."""


class AgedThread(NamedTuple):
    """A thread of which something may be too old."""

    thread_id: str
    user_key: UUID
    oldest_at: datetime


@dataclass(frozen=True, kw_only=True)
class Expired:
    """What goes of a thread."""

    is_over: bool = False
    """All of it."""
    checkpoints: int = 0
    messages: int = 0
    """That lose their words; of a thread that is over neither is counted."""
    oldest: datetime | None = None
    """When the oldest of it was made."""


class AgingThreads:
    """The threads of all users, by age. Those that no saver of ours ever stored in are not known, and left alone."""

    def __init__(self, pool: AsyncConnectionPool[Any], *, schema: str | None = None) -> None:
        """Use `pool`, whose role sees all users and whose owner closes it; `schema` as for `RedactingSaver.from_pool`.

        Needs a running event loop.
        """
        self._tier = _Tier(AsyncPostgresSaver(pool), schema=schema)
        self._tables: frozenset[str] = frozenset()

    async def are_there(self) -> bool:
        """Tell whether the database has a checkpointer's tables. Asked before anything else.

        Raises:
            ConfigurationError: There are several sets of tables in sight, and no `schema` says which is meant.
        """
        self._tables = await self._tier.tables()
        return THREADS in self._tables

    async def aged(self, before: datetime, *, after: AgedThread | None = None, limit: int) -> list[AgedThread]:
        """Return at most `limit` threads of which something may be older than `before`, after one, the oldest first."""
        mark = (
            {"after_at": after.oldest_at, "after": after.thread_id} if after else {"after_at": "-infinity", "after": ""}
        )
        rows = await self._tier.rows(_AGED, {"before": before, "limit": limit, **mark})
        return [AgedThread(row["thread_id"], row["user_key"], row["oldest_at"]) for row in rows]

    async def expire(self, thread_id: str, ages: Ages, *, dry_run: bool = False) -> Expired:
        """Let go of a thread what is too old, in one transaction; return what that was, or would be with `dry_run`.

        A thread in which somebody is storing, or in which a turn runs or waits for a person, is left for the next time.
        """
        return await self._tier.expire(thread_id, ages, spills=SPILL in self._tables, dry_run=dry_run)

    async def end_pauses(self, until: datetime, *, limit: int) -> int | None:
        """Delete paused turns, and turns kept after their end, whose time was over before `until`; None: there are no more."""
        if SPILL not in self._tables:
            return None
        found = await self._tier.rows(_OLD_SPILL, {"until": until, "limit": limit})
        gone = 0
        for thread_id in dict.fromkeys(row["thread_id"] for row in found):
            [row] = await self._tier.rows(_DELETE_OLD_SPILL, {"thread_id": thread_id, "until": until})
            gone += row["rows"]
        return gone or None

    async def forget_deletions(self, now: datetime, *, limit: int) -> int | None:
        """Delete tombstones that no run needs any more; None: there are none."""
        until = now - LIFE
        found = await self._tier.rows(_OLD_TOMBSTONES, {"until": until, "limit": limit})
        if not found:
            return None
        await self._tier.run(_DELETE_TOMBSTONES, {"until": until, "thread_ids": [row["thread_id"] for row in found]})
        return len(found)

    async def old_pauses(self, until: datetime) -> Mapping[str, Any]:
        """Return how many `rows` `end_pauses` would delete, and when the `oldest` was to go."""
        if SPILL not in self._tables:
            return {"rows": 0, "oldest": None}
        [row] = await self._tier.rows(_COUNT_OLD_SPILL, {"until": until})
        return row

    async def old_deletions(self, now: datetime) -> Mapping[str, Any]:
        """Return how many `rows` `forget_deletions` would delete, and of when the `oldest` is."""
        [row] = await self._tier.rows(_COUNT_TOMBSTONES, {"until": now - LIFE})
        return row


class _Tier(AsyncPostgresTier):
    """The durable tier, of which it takes where the tables are, patience and typed errors."""

    async def rows(self, sql: str, params: Mapping[str, Any]) -> list[DictRow]:
        return await self._run(partial(self._execute, Statement(sql, params, returns=True)))

    async def run(self, sql: str, params: Mapping[str, Any]) -> None:
        await self._run(partial(self._execute, Statement(sql, params)))

    async def expire(self, thread_id: str, ages: Ages, *, spills: bool, dry_run: bool) -> Expired:
        return await self._run(partial(self._expire, thread_id, ages, spills, dry_run))

    async def _expire(self, thread_id: str, ages: Ages, spills: bool, dry_run: bool) -> Expired:
        async with (
            self._connection() as conn,
            conn.transaction(),
            await table_cursor(conn, self._tables) as cursor,
        ):
            return await _Expiring(cursor, thread_id, ages).run(spills=spills, dry_run=dry_run)


class _Expiring:
    """What is done with one thread, in a transaction."""

    def __init__(self, cursor: AsyncTableCursor, thread_id: str, ages: Ages) -> None:
        self._cursor = cursor
        self._thread_id = thread_id
        self._ages = ages
        self._given = {
            "thread_id": thread_id,
            "now": ages.now,
            "before": ages.before,
            "mark": NO_LONGER_KEPT,
        }

    async def run(self, *, spills: bool, dry_run: bool) -> Expired:
        if not dry_run and not await self._rows(_LOCK):
            return Expired()
        rows = [prunes.row_of(row) for row in await self._read(prunes.rows_to_prune(self._thread_id))]
        if _runs(rows, self._ages.paused_before) or (spills and (await self._rows(_WAITS))[0]["waits"]):
            return Expired()
        times = [row.made_at for row in rows if row.made_at is not None]
        if len(times) == len(rows) and max(times, default=self._ages.before - LATER) < self._ages.before:
            if not dry_run:
                await self._delete(spills=spills)
            return Expired(is_over=True, oldest=min(times, default=None))
        return await self._trim(rows, dry_run=dry_run)

    async def _delete(self, *, spills: bool) -> None:
        await self._read(deletions.delete_thread(self._thread_id))
        if spills:
            await self._cursor.execute(_DROP_SPILL, self._given)

    async def _trim(self, rows: Sequence[Row], *, dry_run: bool) -> Expired:
        again_at: list[datetime] = []
        try:
            gone = Pruning(before=self._ages.before, keeps=_any).gone(rows)
        except NotImplementedError:  # a stock saver's delta channel needs its history until a turn of ours has ended
            gone = []
            again_at.append(self._ages.before + LATER)
        prune = prunes.prune_rows(self._thread_id, gone)
        [messages] = await self._rows(_MESSAGES, prune.params)
        if not dry_run:
            if gone:
                await self._read(prune)
            if messages["old"]:
                await self._cursor.execute(_BLANK, self._given)
            ages = [*again_at, messages["next_at"], *(row.made_at for row in rows)]
            oldest_at = min((at for at in ages if at is not None and at >= self._ages.before), default=self._ages.now)
            await self._cursor.execute(_NOTE, {**self._given, "oldest_at": oldest_at})
        oldest = [row.made_at for row in gone if row.made_at] + [messages["oldest_at"]] * bool(messages["old"])
        return Expired(checkpoints=len(gone), messages=messages["old"], oldest=min(oldest, default=None))

    async def _rows(self, sql: str, also: Mapping[str, Any] | None = None) -> list[DictRow]:
        return await (await self._cursor.execute(sql, {**self._given, **(also or {})})).fetchall()

    async def _read(self, statement: Statement) -> list[DictRow]:
        await self._cursor.execute(statement.sql, statement.params)
        return await self._cursor.fetchall() if statement.returns else []


def _runs(rows: Sequence[Row], paused_before: datetime) -> bool:
    """Whether a turn of the thread may be under way, or wait for a person."""
    roots = [row for row in rows if is_root(row.place.ns)]
    newest = max(roots, key=lambda row: row.place.checkpoint_id, default=None)
    return newest is not None and newest.unfinished and newest.made_at is not None and newest.made_at >= paused_before


def _any(_ns: str) -> bool:
    """Keep whatever the policy of the application stores: only age decides here."""
    return True
