"""Hold a job while one works on it, and stop as soon as somebody else has it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from discreet.errors import LeaseLostError, StorageError
from discreet.state.background import BatchJob
from discreet.storage.background.jobs import BatchJobs
from discreet.storage.database.lease_extension import extending

LEASE_SECONDS = 90.0
"""For how long a job of a worker that was killed waits for another."""


@asynccontextmanager
async def held(jobs: BatchJobs, job: BatchJob, *, seconds: float = LEASE_SECONDS) -> AsyncIterator[None]:
    """Extend the lease of `job`, which the caller has, three times a lease, until the block ends.

    Raises:
        LeaseLostError: It was taken over; the block was cancelled. What it wrote until then was written under the mark of each
            prompt, so that nobody writes it again.
    """

    async def extend() -> bool:
        try:
            await jobs.extend(job, lease_seconds=seconds)
        except LeaseLostError:
            return False
        except StorageError:  # the next time, or another worker takes it over
            pass
        return True

    async with extending(extend, seconds=seconds):
        yield
