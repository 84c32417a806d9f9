"""Rolling summaries that fell behind are brought up to date from the log."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from testkit.conversations import talk

from discreet.ports import RollingSummary
from discreet.redaction import Redactor
from discreet.worker.rolling import RollingDrain

TEXTS = [f"I visited town number {number} with my cousin Minh{number}." for number in range(18)]


class Counting:
    """Summarises by saying how many rounds there were."""

    def __init__(self):
        self.rounds = []

    async def summarize(self, rounds, *, earlier="", max_tokens=200):
        self.rounds += [each.said for each in rounds]
        return f"{len(rounds)} more."


@pytest.fixture
async def behind(storage):
    """A session of 18 rounds whose summary covers the first five."""
    await talk(storage, *TEXTS)
    first = RollingSummary(text="Ann travels.", rounds=5, last_message_id="a-thread-r4")
    assert await storage.summaries.commit("ann", "thread", expected=RollingSummary(), new=first)
    return storage


async def test_a_summary_that_fell_behind_catches_up(behind, make_worker, settings):
    provider = Counting()
    drain = RollingDrain(behind.background, settings=settings, redactor=Redactor(), provider=provider)
    [session] = await behind.background.sessions.pending(limit=10)
    assert session.behind == 13
    assert await drain.advance(session)
    stands = await behind.summaries.get("ann", "thread")
    assert (stands.rounds, stands.last_message_id, stands.text) == (
        15,
        "a-thread-r14",
        "Ann travels.\n5 more.\n5 more.",
    )
    assert provider.rounds == TEXTS[5:15]
    assert not await drain.advance(session)  # once


@pytest.mark.slow
async def test_the_worker_does_so_before_the_session_is_worked_on(behind, make_worker, settings, provider):
    drain = RollingDrain(behind.background, settings=settings, redactor=Redactor(), provider=Counting())
    worker = make_worker(rolling=drain, live={"memory_trigger_compaction": True})
    assert await worker.fire() == 0
    assert (await behind.summaries.get("ann", "thread")).rounds == 15
    assert await worker.fire() == 1


async def test_a_summary_of_rounds_that_the_log_has_no_longer_is_left(behind, settings, run):
    run("DELETE FROM discreet.conversation_log WHERE request_id = 'thread-r1'")
    drain = RollingDrain(behind.background, settings=settings, redactor=Redactor(), provider=Counting())
    [session] = await behind.background.sessions.pending(limit=10)
    assert not await drain.advance(session)
    assert (await behind.summaries.get("ann", "thread")).rounds == 5


@pytest.mark.slow
@pytest.mark.dialect
async def test_what_the_user_had_forgotten_is_not_told(storage, settings):
    await talk(storage, *TEXTS[:4], "I am allergic to peanuts.", *TEXTS[4:14])
    await storage.memories.forget("ann", "allergic to peanuts")
    first = RollingSummary(text="Ann travels.", rounds=4, last_message_id="a-thread-r3")
    assert await storage.summaries.commit("ann", "thread", expected=RollingSummary(), new=first)
    provider = Counting()
    drain = RollingDrain(storage.background, settings=settings, redactor=Redactor(), provider=provider)
    [session] = await storage.background.sessions.pending(limit=10)
    assert await drain.advance(session)
    assert provider.rounds == TEXTS[4:14]


async def test_a_session_that_goes_on_is_left_to_its_own_process(storage, settings):
    await talk(storage, *TEXTS, at=datetime.now(UTC))
    first = RollingSummary(text="Ann travels.", rounds=5, last_message_id="a-thread-r4")
    assert await storage.summaries.commit("ann", "thread", expected=RollingSummary(), new=first)
    drain = RollingDrain(storage.background, settings=settings, redactor=Redactor(), provider=Counting())
    [session] = await storage.background.sessions.pending(limit=10)
    assert not await drain.advance(session)


async def test_threads_without_a_rolling_summary_get_none(storage, settings):
    await talk(storage, *TEXTS)
    drain = RollingDrain(storage.background, settings=settings, redactor=Redactor(), provider=Counting())
    [session] = await storage.background.sessions.pending(limit=10)
    assert not await drain.advance(session)
