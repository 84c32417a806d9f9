"""Hold a job while one works on it, and stop as soon as somebody else has it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from discreet.errors import LeaseLostError, StorageError
from discreet.state.background import BatchJob
from discreet.storage.background.jobs import BatchJobs

LEASE_SECONDS = 90.0
"""For how long a job of a worker that was killed waits for another."""


@asynccontextmanager
async def held(jobs: BatchJobs, job: BatchJob, *, seconds: float = LEASE_SECONDS) -> AsyncIterator[None]:
    """Extend the lease of `job`, which the caller has, three times a lease, until the block ends.

    Raises:
        LeaseLostError: It was taken over; the block was cancelled. What it wrote until then was written under the mark of each
            prompt, so that nobody writes it again.
    """
    block = asyncio.current_task()
    assert block is not None  # a coroutine runs in a task
    lost = False

    async def extend() -> None:
        nonlocal lost
        while True:
            await asyncio.sleep(seconds / 3)
            try:
                await jobs.extend(job, lease_seconds=seconds)
            except LeaseLostError:
                lost = True
                block.cancel()
                return
            except StorageError:  # the next time, or another worker takes it over
                continue

    extending = asyncio.create_task(extend())
    try:
        yield
    except asyncio.CancelledError:
        if lost and block.uncancel() == 0:
            raise LeaseLostError from None
        raise
    finally:
        extending.cancel()
        await asyncio.wait([extending])
