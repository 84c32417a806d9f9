"""How an erasure goes over what it finds: it counts that, or deletes it in batches and notes after each how far it is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from discreet.driver_errors import storage_errors
from discreet.rights.erasure.jobs import Job, Jobs
from discreet.rights.erasure.tables import BATCH, Rows
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.users.users import Cursor

Progress = Callable[[str, Mapping[str, int]], None]
"""Hears what went, by place and kind."""


class Counting:
    """Counts what would go."""

    is_dry = True

    def __init__(self, job: Job, pool: Pool, works: Pool) -> None:
        self.job = job
        self._pool = pool
        self._works = works

    async def note(self, place: str, counts: Mapping[str, int]) -> None:
        """Note what goes."""
        self.job.add(place, counts)

    async def rows(self, rows: Rows, given: Mapping[str, Any], *, place: str = "database") -> None:
        """Go over the rows of a table."""
        async with self._cursor(rows) as cursor:
            found = await rows.count(cursor, given)
        await self.note(place, {rows.table: found})

    @asynccontextmanager
    async def _cursor(self, rows: Rows) -> AsyncIterator[Cursor]:
        with storage_errors():
            pool = self._pool if rows.is_own else self._works
            async with pool.connection() as conn, conn.cursor(binary=True) as cursor:
                yield cursor


class Deleting(Counting):
    """Deletes."""

    is_dry = False

    def __init__(self, job: Job, pool: Pool, works: Pool, *, jobs: Jobs, progress: Progress) -> None:
        super().__init__(job, pool, works)
        self._jobs = jobs
        self._progress = progress

    async def note(self, place: str, counts: Mapping[str, int]) -> None:
        """Note what went: also in the table of erasures, for whoever goes on, and to whoever waits."""
        if any(counts.values()):
            self.job.add(place, counts)
            self._progress(place, counts)
            await self._jobs.save(self.job)

    async def rows(self, rows: Rows, given: Mapping[str, Any], *, place: str = "database") -> None:
        """Delete the rows of a table, a batch in a transaction."""
        gone = BATCH
        while gone >= BATCH:
            async with self._cursor(rows) as cursor:
                gone = await rows.delete(cursor, given)
            await self.note(place, {rows.table: gone})
