"""Set the gauges that no call moves: what the database holds, how old it is, and whether it works."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from discreet import metrics
from discreet.errors import StorageError
from discreet.ports import LiveSettings
from discreet.state.background import JobState
from discreet.storage.background.ages import Ages
from discreet.storage.background.status import Watch
from discreet.storage.database.connecting.health import DatabaseHealth
from discreet.storage.short_term.size import Measured


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Looks at one database. Meant to be done once a minute: each look is a few short statements."""

    health: DatabaseHealth
    watch: Watch
    ages: Ages
    short_term: Measured
    short_term_limit: int
    """Bytes that short-term memory may take where its store has no limit of its own."""
    memory_settings: LiveSettings

    async def database(self) -> None:
        """Look whether the database works.

        Raises:
            StorageError: It doesn't, which the gauge says too.
        """
        try:
            await self.health.state()
        except StorageError:
            metrics.database_up.labels("primary").set(0)
            raise
        metrics.database_up.labels("primary").set(1)

    async def sizes(self) -> None:
        """Look how much short-term memory takes, wherever it is.

        Raises:
            StorageError: It can't be read.
        """
        size = await self.short_term.size()
        metrics.short_term_bytes.labels(size.store).set(size.used)
        metrics.short_term_limit_bytes.labels(size.store).set(size.limit or self.short_term_limit)

    async def works(self) -> None:
        """Look at what waits for workers, of all users, and at erasures.

        Raises:
            StorageError: The database failed.
        """
        jobs = await self.watch.jobs()
        for state in get_args(JobState):
            metrics.batch_jobs.labels(state).set(jobs.get(state, 0))
        ages = await self.ages.read()
        metrics.leases_held.set(ages.leases)
        metrics.workers_alive.set(ages.workers)
        metrics.oldest_due_job_seconds.set(ages.due_job)
        metrics.oldest_erasure_seconds.set(ages.erasure)
        extracts = self.memory_settings.live.memory_extraction_enabled
        metrics.oldest_pending_seconds.set(ages.pending_session if extracts else 0)
