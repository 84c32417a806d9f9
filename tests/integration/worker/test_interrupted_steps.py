"""A worker that stands still between two of its steps, or is refused one, while another does the same work."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from testkit.conversations import overloaded, talk

from discreet.errors import LeaseLostError, ProviderError, StorageError
from discreet.state.records import MemoryFilters

SAID = "I keep two African Grey parrots."


class Bench:
    """One prompt that waits, and what works on it."""

    def __init__(self, storage, provider, make_worker, rows):
        self.storage, self.provider, self.make_worker, self.rows = storage, provider, make_worker, rows
        self.jobs, self.requests = storage.background.jobs, storage.background.requests

    async def open(self):
        """Return a job as a worker has it that just made it."""
        return await self.jobs.open("openai", "gpt-4o-mini", lease_seconds=60)

    def states(self):
        return self.rows("SELECT state, attempts FROM discreet.batch_requests")

    async def check(self):
        """Check that all is done, stored once, and gone at the provider."""
        filters = MemoryFilters(types=["user_fact"])
        assert [record.text for record in await self.storage.memories.latest("ann", filters=filters)] == [SAID]
        assert [state for state, _ in self.states()] == ["applied"]
        assert self.rows("SELECT count(*) FROM discreet.batch_jobs WHERE done_at IS NULL") == [(0,)]
        assert set(self.provider.batches) == self.provider.deleted


@pytest.fixture
async def bench(storage, provider, make_worker, rows):
    await talk(storage, SAID)
    return Bench(storage, provider, make_worker, rows)


@pytest.fixture
def lease_ends(run, later):
    """Return a function that lets nobody hold a job any more, and all be due."""

    def end():
        run("UPDATE discreet.batch_jobs SET lease_until = now() - interval '1 second' WHERE done_at IS NULL")
        later()

    return end


@pytest.fixture
def others_finish(bench, later):
    """Return a function that lets another worker do all that is left, and checks that it did."""

    async def work():
        other = bench.make_worker()
        for _ in range(6):
            later()
            await other.once()
        await bench.check()

    return work


class SlowSubmission:
    """Lets the first batch wait before it is handed in, or before the provider says so; others are not held up."""

    def __init__(self, provider, *, before):
        self.is_begun, self.goes_on, self.answers = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.answers.set()
        self._submit, provider.submit = provider.submit, self
        self._before = before

    async def __call__(self, *given):
        if self.is_begun.is_set():
            return await self._submit(*given)
        batch_id = None if self._before else await self._submit(*given)
        self.is_begun.set()
        await self.goes_on.wait()
        batch_id = batch_id or await self._submit(*given)
        await self.answers.wait()
        return batch_id


@pytest.mark.slow
async def test_nothing_is_put_into_a_job_that_another_has_ended(bench, lease_ends, others_finish):
    worker = bench.make_worker()
    await worker.fire()
    job = await bench.open()
    lease_ends()  # it stands still before it puts anything in
    assert await worker.attend()
    assert bench.rows("SELECT state FROM discreet.batch_jobs") == [("completed",)]
    with suppress(StorageError):
        await bench.requests.assign(job, limit=10)
        await worker._attend_one(job)
    await others_finish()


@pytest.mark.slow
async def test_who_lost_a_job_takes_nothing_out_of_it(bench, lease_ends, others_finish):
    bench.provider.is_done = False
    worker = bench.make_worker()
    await worker.fire()
    job = await bench.open()
    [request] = await bench.requests.assign(job, limit=10)
    lease_ends()
    assert await worker.attend()  # hands it in
    for late in (
        lambda: bench.requests.settle_rest(job, is_cancelled=False, error="provider"),
        lambda: bench.requests.give_back(job, [request]),
        lambda: bench.requests.end(job, request, "cancelled", error="nothing_left"),
    ):
        with suppress(StorageError):
            await late()
        assert bench.states() == [("submitted", 1)]
    bench.provider.is_done = True
    await others_finish()
    assert list(bench.provider.batches) == ["batch-0"]


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
async def test_a_worker_that_stands_still_while_it_hands_in_leaves_no_batch_behind(
    bench, lease_ends, others_finish, before
):
    slow = SlowSubmission(bench.provider, before=before)
    running = asyncio.create_task(bench.make_worker().once())
    await slow.is_begun.wait()
    lease_ends()
    await bench.make_worker().once()
    slow.goes_on.set()
    await running
    await others_finish()


@pytest.mark.slow
@pytest.mark.dialect
async def test_a_worker_that_learns_that_it_lost_a_job_while_it_hands_in_leaves_no_batch_behind(
    bench, lease_ends, others_finish
):
    extend, is_lost = bench.jobs.extend, asyncio.Event()

    async def extending(job, **options):
        try:
            return await extend(job, **options)
        except LeaseLostError:
            is_lost.set()
            raise

    bench.jobs.extend = extending
    slow = SlowSubmission(bench.provider, before=True)
    running = asyncio.create_task(bench.make_worker(lease_seconds=1.0).once())
    await slow.is_begun.wait()
    lease_ends()
    await bench.make_worker().attend()
    slow.answers.clear()
    slow.goes_on.set()
    await is_lost.wait()
    slow.answers.set()
    await running
    await others_finish()


@pytest.mark.slow
async def test_who_lost_a_job_can_be_given_a_time_limit_afterwards(bench, lease_ends):
    """On Python 3.11 a cancellation that is not taken back lets every later `asyncio.timeout` raise CancelledError."""
    slow = SlowSubmission(bench.provider, before=True)

    async def work():
        await bench.make_worker(lease_seconds=1.0).once()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        return asyncio.current_task().cancelling()

    running = asyncio.create_task(work())
    await slow.is_begun.wait()
    lease_ends()
    assert await bench.jobs.claim(lease_seconds=60)
    asyncio.get_running_loop().call_later(2.0, slow.goes_on.set)
    assert await running == 0


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("error", [overloaded(), ProviderError("no", is_passing=False)], ids=["passing", "final"])
@pytest.mark.parametrize("call", ["find", "submit", "submitted", "status", "results", "delete"])
async def test_whatever_call_of_the_provider_fails_it_is_made_again(bench, later, call, error):
    unheard = [("submitted", overloaded())] if call == "find" else []
    bench.provider.failing = [*unheard, (call, error)]
    worker = bench.make_worker()
    for _ in range(6):
        await worker.once()
        later()
    assert bench.provider.failing == []
    if not error.is_passing and call in {
        "submitted",
        "find",
        "delete",
    }:  # then nobody can tell what is there, or delete it
        assert "batch-0" not in bench.provider.deleted
        bench.provider.deleted.add("batch-0")
    await bench.check()


@pytest.mark.slow
async def test_an_embedding_model_that_fails_is_asked_again(bench, others_finish):
    embeddings = bench.storage.memories._embeddings
    embed, failing = embeddings.aembed_documents, [overloaded()]

    async def embedding(texts):
        if failing:
            raise failing.pop()
        return await embed(texts)

    embeddings.aembed_documents = embedding
    await bench.make_worker().once()
    await others_finish()
    assert failing == []
