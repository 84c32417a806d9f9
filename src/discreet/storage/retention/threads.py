"""Sweep threads: checkpoints that are too old, and with a thread that is over what else there is of it alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from datetime import datetime, timedelta
from typing import LiteralString

from discreet.checkpoint.postgres.aging import AgedThread, Ages, AgingThreads, Expired
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.keys import digest
from discreet.storage.database.statements import fetch
from discreet.storage.retention.sweeper import At, Due, Gone

_END: LiteralString = """
WITH forgotten AS (
    DELETE FROM discreet.forgotten_round WHERE user_key = %(user_key)s AND thread_key = %(thread_key)s
),
summaries AS (
    DELETE FROM discreet.rolling_summary WHERE user_key = %(user_key)s AND thread_key = %(thread_key)s RETURNING rounds
),
sessions AS (
    DELETE FROM discreet.session_record
    WHERE user_key = %(user_key)s AND thread_key = %(thread_key)s AND NOT EXISTS (
        SELECT FROM discreet.conversation_log WHERE user_key = %(user_key)s AND thread_key = %(thread_key)s
    )
    RETURNING rounds
)
SELECT (SELECT count(*) FROM summaries) AS summaries, (SELECT count(*) FROM sessions) AS sessions
"""
"""Before the thread itself, so that whoever is killed in between does it again. Its values in the vault have ended long before."""


class ThreadSweeper:
    """Sweeps threads, one in a transaction."""

    kinds: tuple[str, ...] = ("threads", "checkpoints", "messages", "pauses", "deletions")

    def __init__(self, threads: AgingThreads, works: Pool, *, pause_seconds: float) -> None:
        """Sweep `threads`, and on `works`, whose role sees all users, what is beside them.

        `pause_seconds`: how long a person may take to answer a paused turn.
        """
        self._threads = threads
        self._works = works
        self._pause = timedelta(seconds=pause_seconds)

    async def sweep(self, at: At, *, batch: int) -> AsyncGenerator[Gone, None]:
        """Delete what is due."""
        if not await self._threads.are_there():
            return
        ages = self._ages(at)
        async for thread in self._aged(ages, batch):
            yield await self._expire(thread, ages)  # also of nothing: who sweeps looks at the time after each
        while (pauses := await self._threads.end_pauses(at.now, limit=batch)) is not None:
            yield {"pauses": pauses}
        while (deletions := await self._threads.forget_deletions(at.now, limit=batch)) is not None:
            yield {"deletions": deletions}

    async def due(self, at: At) -> list[Due]:
        """Return how much is: each thread of which something may be is looked at."""
        if not await self._threads.are_there():
            return []
        ages, rows, oldest = self._ages(at), Counter[str](), dict[str, datetime]()
        async for thread in self._aged(ages, 500):
            expired = await self._threads.expire(thread.thread_id, ages, dry_run=True)
            for kind, number in _told(expired).items():
                rows[kind] += number
                made_at = expired.oldest or thread.oldest_at
                oldest[kind] = min(made_at, oldest.get(kind, made_at))
        return [
            *(Due(kind=kind, rows=rows[kind], oldest=oldest.get(kind)) for kind in self.kinds[:3]),
            Due(kind="pauses", **await self._threads.old_pauses(at.now)),
            Due(kind="deletions", **await self._threads.old_deletions(at.now)),
        ]

    async def _expire(self, thread: AgedThread, ages: Ages) -> Gone:
        would = await self._threads.expire(thread.thread_id, ages, dry_run=True)
        beside: Gone = {}
        if would.is_over:
            given = {"user_key": thread.user_key, "thread_key": digest(thread.thread_id)}
            [beside] = await fetch(self._works, _END, given)
        return _told(await self._threads.expire(thread.thread_id, ages)) + Counter(beside)

    async def _aged(self, ages: Ages, batch: int) -> AsyncIterator[AgedThread]:
        last: AgedThread | None = None
        while page := await self._threads.aged(ages.before, after=last, limit=batch):
            for thread in page:
                yield thread
            last = page[-1]

    def _ages(self, at: At) -> Ages:
        return Ages(now=at.now, before=at.until("threads"), paused_before=at.now - self._pause)


def _told(expired: Expired) -> Counter[str]:
    """Return how much that is, by kind; of which there is none is left out."""
    return +Counter(threads=expired.is_over, checkpoints=expired.checkpoints, messages=expired.messages)


def thread_sweeper(works: Pool, *, pause_seconds: float, schema: str | None = None) -> ThreadSweeper:
    """Return what sweeps the threads of the database of `works`. Needs a running event loop.

    `schema`: where the checkpointer's tables are, if it was told so.
    """
    return ThreadSweeper(AgingThreads(works, schema=schema), works, pause_seconds=pause_seconds)
