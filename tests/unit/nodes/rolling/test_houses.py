"""Where graphs run: a loop a request, a terminal that stands still, threads, a process that is told to stop."""

import asyncio
import time
from contextvars import ContextVar

import pytest

from discreet.background_loop import wait_for
from discreet.nodes.background_tasks import BackgroundTasks, awake_for, drain
from discreet.nodes.rolling_summary import CHUNK, RollingSummariser

speaker = ContextVar("speaker", default="nobody")


class Slow:
    """Takes its time."""

    def __init__(self, provider, seconds):
        self._provider, self._seconds = provider, seconds

    async def summarize(self, rounds, **given):
        await asyncio.sleep(self._seconds)
        return await self._provider.summarize(rounds, **given)


def summariser(build, provider=None, **options):
    return RollingSummariser(build.Summaries(), provider or build.Numbers(), len, budget=2_000, **options)


def test_with_an_event_loop_a_turn_the_summary_keeps_up_and_no_turn_waits(build):
    never = build.Numbers(gate=asyncio.Event())
    each = summariser(build, never)
    for rounds in range(1, 31):
        asyncio.run(each.after_turn("ann", "t", build.talk(rounds)))
        covered = asyncio.run(each.current("ann", "t", build.talk(rounds))).rounds
        assert rounds - covered < 2 * CHUNK
    assert covered == 30
    assert never.calls == []  # so no turn waited for it


def test_a_process_a_turn_keeps_up_too(build):
    summaries = build.Summaries()
    for rounds in range(1, 21):
        each = RollingSummariser(summaries, build.Numbers(gate=asyncio.Event()), len)
        asyncio.run(each.after_turn("ann", "t", build.talk(rounds)))
    assert summaries.kept["ann", "t"].rounds == 20


async def test_nothing_is_begun_on_a_loop_that_may_end_with_the_turn(build):
    each = summariser(build)
    await each.after_turn("ann", "t", build.talk(5))
    assert await each.drain() == 0
    assert each._summaries.kept == {}
    await each.after_turn("ann", "t", build.talk(6))
    await each.drain()
    assert each._summaries.kept["ann", "t"].rounds == 5


async def test_a_slow_summariser_never_delays_a_turn(build):
    never = build.Numbers(gate=asyncio.Event())
    each = build(provider=never, timeout=3_600).summariser
    async with asyncio.timeout(20):
        await each.after_turn("ann", "t", build.talk(5))
        await never.asked.wait()
        for rounds in range(6, 31):
            await each.after_turn("ann", "t", build.talk(rounds))
    assert await each.drain(0) == 1
    assert len(never.calls) == 1


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.05, 0.5])
def test_a_terminal_whose_loop_stands_still_between_turns_is_summarised_in_its_turns(build, seconds):
    each = summariser(build, Slow(build.Numbers(), 0.05), timeout=0.2)

    async def turn(rounds):
        await asyncio.sleep(0.03)  # the model speaks
        await each.after_turn("ann", "t", build.talk(rounds))

    with asyncio.Runner() as runner:
        for rounds in range(1, 14):
            runner.run(turn(rounds))
            time.sleep(seconds)
    assert each._summaries.kept["ann", "t"].rounds >= 5


async def test_in_the_turn_a_provider_that_always_fails_leaves_quotes_when_the_summary_is_late(build):
    rig = build(background=False)
    rig.provider.fails = 1_000
    for rounds in range(1, 11):
        await rig.summariser.after_turn("ann", "t", build.talk(rounds))
    assert rig.summaries.kept["ann", "t"].rounds == 10


async def test_in_the_turn_a_long_thread_that_is_new_here_is_caught_up_with_by_its_provider(build):
    rig = build(background=False)
    covered = []
    for rounds in (60, 61, 62):
        await rig.summariser.after_turn("ann", "t", build.talk(rounds))
        covered.append(rig.summaries.kept["ann", "t"].rounds)
    assert covered == [20, 40, 60]
    assert len(rig.provider.calls) >= 12


def test_a_process_that_is_told_to_stop_finishes_what_is_under_way(build):
    each = summariser(build, Slow(build.Numbers(), 0.05))

    async def main():
        await each.after_turn("ann", "t", build.talk(4))
        await each.after_turn("ann", "t", build.talk(5))
        assert await drain() == 0

    asyncio.run(main())
    assert each._summaries.kept["ann", "t"].rounds == 5


async def test_a_drain_has_a_limit_and_reaches_work_of_other_loops(build):
    held = build.Numbers(gate=asyncio.Event())
    each = summariser(build, held)

    async def go_on():
        held.gate.set()

    await asyncio.to_thread(wait_for, each.after_turn("ann", "t", build.talk(4)))
    await asyncio.to_thread(wait_for, each.after_turn("ann", "t", build.talk(5)))
    assert await each.drain(0.01) == 1
    await asyncio.to_thread(wait_for, go_on())
    assert await each.drain() == 0
    assert each._summaries.kept["ann", "t"].rounds == 5


async def test_a_drain_that_is_cancelled_leaves_the_work_running(build):
    rig = build(provider=Slow(build.Numbers(), 0.1))
    await rig.summariser.after_turn("ann", "t", build.talk(5))
    draining = asyncio.create_task(rig.summariser.drain())
    await asyncio.sleep(0)
    draining.cancel()
    await asyncio.wait([draining])
    await rig.summariser.drain()
    assert rig.summaries.kept["ann", "t"].rounds == 5


@pytest.mark.parametrize("steps", [0, 3], ids=["before its first step", "at work"])
@pytest.mark.parametrize("ends", [asyncio.run, "closed"], ids=["cancelled", "closed under it"])
def test_work_that_is_lost_with_its_loop_frees_its_place(ends, steps):
    done = []

    async def endless():
        await asyncio.get_running_loop().create_future()

    async def short():
        done.append("short")

    tasks = BackgroundTasks(limit=1)

    async def leave():
        assert tasks.start("k", endless)
        for _ in range(steps):
            await asyncio.sleep(0)

    async def again():
        assert tasks.start("k", short)
        await drain(of=tasks)

    if ends == "closed":
        loop = asyncio.new_event_loop()
        loop.set_exception_handler(lambda _loop, _context: None)  # it will say that a task was lost
        loop.run_until_complete(leave())
        loop.close()
    else:
        ends(leave())
    asyncio.run(again())
    assert done == ["short"]


async def test_work_sees_nothing_of_the_run_that_started_it(build):
    heard = []

    class Listening(build.Numbers):
        async def summarize(self, rounds, **given):
            heard.append(speaker.get())
            return await super().summarize(rounds, **given)

    speaker.set("ann")
    rig = build(provider=Listening())
    await rig.after(build.talk(5))
    await rig.summariser.catch_up("ann", "t", build.talk(20))
    assert set(heard) == {"nobody"}


async def test_what_takes_too_long_while_the_loop_runs_is_given_up():
    with pytest.raises(TimeoutError):
        await awake_for(0.05, lambda: asyncio.sleep(5))
