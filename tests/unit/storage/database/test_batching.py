import asyncio

import pytest

from discreet.storage.database.batching import Batcher


@pytest.fixture
def rounds():
    return []


@pytest.fixture
async def merger(rounds):
    async def serve(calls):
        rounds.append(list(calls))
        await asyncio.sleep(0)
        return [ValueError(call) if call < 0 else call * 10 for call in calls]

    return Batcher(serve)


async def test_calls_of_one_round_are_served_together_and_answered_apart(merger, rounds):
    answers = await asyncio.gather(*map(merger.call, [1, 2, -3, 4]), return_exceptions=True)
    assert [answers[0], answers[1], answers[3]] == [10, 20, 40]
    assert isinstance(answers[2], ValueError)
    assert rounds == [[1, 2, -3, 4]]


async def test_a_round_does_not_wait_for_the_one_before(rounds):
    release = asyncio.Event()

    async def serve(calls):
        rounds.append(calls)
        if calls == [1]:
            await release.wait()
        return calls

    merger = Batcher(serve)
    first = asyncio.create_task(merger.call(1))
    await asyncio.sleep(0.01)
    assert await merger.call(2) == 2
    release.set()
    assert await first == 1


async def test_whoever_waits_learns_that_serving_failed():
    async def serve(_calls):
        raise LookupError

    answers = await asyncio.gather(*map(Batcher(serve).call, [1, 2]), return_exceptions=True)
    assert [type(answer) for answer in answers] == [LookupError, LookupError]


async def test_a_caller_that_is_cancelled_takes_nobody_along(merger):
    gone, waiting = asyncio.create_task(merger.call(1)), asyncio.create_task(merger.call(2))
    await asyncio.sleep(0)
    gone.cancel()
    assert await waiting == 20
    assert gone.cancelled()
