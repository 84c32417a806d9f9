import asyncio
from contextvars import ContextVar

import pytest

from discreet.nodes.latest_jobs import LatestJobs

speaker = ContextVar("speaker", default="nobody")


class Work:
    """Notes what it was given, and goes on when it is let."""

    def __init__(self):
        self.done, self.heard, self.gate = [], [], asyncio.Event()

    async def __call__(self, key, value):
        self.heard.append(speaker.get())
        await self.gate.wait()
        self.done.append((key, value))


async def test_a_job_sees_nothing_of_the_run_that_started_it():
    work = Work()
    jobs = LatestJobs(work, limit=1)
    speaker.set("ann")
    jobs.offer("k", 1)
    work.gate.set()
    await jobs.drain()
    assert work.heard == ["nobody"]


async def test_of_the_values_that_come_meanwhile_the_latest_is_worked_on():
    work = Work()
    jobs = LatestJobs(work, limit=1)
    first = jobs.offer("k", 1)
    await asyncio.sleep(0)
    assert jobs.offer("k", 2) is first
    assert jobs.offer("k", 3) is first
    work.gate.set()
    await jobs.drain()
    assert work.done == [("k", 1), ("k", 3)]
    assert first.done()


async def test_beyond_the_limit_nothing_is_taken_until_a_job_ends():
    work = Work()
    jobs = LatestJobs(work, limit=1)
    jobs.offer("k", 1)
    assert jobs.offer("other", 2) is None
    work.gate.set()
    await jobs.drain()
    assert jobs.offer("other", 2) is not None
    await jobs.drain()


async def test_a_drain_that_is_cancelled_leaves_the_jobs_running():
    work = Work()
    jobs = LatestJobs(work, limit=1)
    jobs.offer("k", 1)
    draining = asyncio.create_task(jobs.drain())
    await asyncio.sleep(0)
    draining.cancel()
    await asyncio.wait([draining])
    work.gate.set()
    await jobs.drain()
    assert work.done == [("k", 1)]


class WaitsForOne:
    """Never ends with 1, at once with all else."""

    def __init__(self):
        self.done = []

    async def __call__(self, key, value):
        if value == 1:
            await asyncio.get_running_loop().create_future()
        self.done.append(value)


@pytest.mark.parametrize("steps", [0, 3], ids=["before its first step", "at work"])
def test_a_job_that_is_cancelled_with_its_event_loop_frees_its_place(steps):
    work = WaitsForOne()
    jobs = LatestJobs(work, limit=1)

    async def leave():
        jobs.offer("k", 1)
        for _ in range(steps):
            await asyncio.sleep(0)

    asyncio.run(leave())
    asyncio.run(work_again(jobs))
    assert work.done == [2]


def test_a_job_whose_event_loop_was_closed_under_it_frees_its_place():
    work = WaitsForOne()
    jobs = LatestJobs(work, limit=1)
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda _loop, _context: None)  # it will say that a task was lost

    async def leave():
        jobs.offer("k", 1)
        await asyncio.sleep(0)

    loop.run_until_complete(leave())
    loop.close()  # without a word to its tasks
    asyncio.run(work_again(jobs))
    assert work.done == [2]


async def work_again(jobs):
    assert jobs.offer("k", 2) is not None
    await jobs.drain()
