"""The loop keeps within bounds, goes on where it ended, and several at once do everything once."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from itertools import count

import pytest
from prometheus_client import REGISTRY
from testkit.conversations import turn

from discreet.access.actor import Actor, acting
from discreet.errors import StorageError
from discreet.storage import open_storage
from discreet.storage.retention import At, Due, Retention
from discreet.storage.retention.kinds import sweepers
from discreet.testing import InMemoryAuditLog, StubEmbeddings


async def fill(storage, clock, number, days=31):
    for n in range(number):
        at = clock.ago(days=days) - timedelta(minutes=n)
        await storage.log.append(turn(f"{days}-{n}", "Hello", at=at, thread=f"{n % 7}"))


async def turns(storage):
    return len(await storage.log.read("ann", limit=1_000))


def swept(kind):
    return REGISTRY.get_sample_value("discreet_retention_swept_total", {"kind": kind}) or 0


@pytest.fixture
def make(storage, clock, audit):
    """Return what makes the loop of one process."""

    def loop(**bounds):
        of_all = sweepers(
            storage.works_pool,
            rules=storage.memories._rules,
            keys=storage.background.keys,
            audit=audit,
            pause_seconds=60,
        )
        return Retention(
            storage.works_pool, of_all, memory_settings=storage.memory_settings, audit=audit, clock=clock, **bounds
        )

    return loop


async def test_a_pass_ends_at_its_rows_and_the_next_goes_on(storage, clock, make):
    await fill(storage, clock, 10)
    retention = make(batch=2, rows=5)
    left = [10]
    while left[-1]:
        await retention.keep()
        left.append(await turns(storage))
    assert left[:2] == [10, 6], "two batches, and what ended with them"
    assert left == sorted(left, reverse=True)


async def test_a_pass_ends_when_its_time_is_over(storage, clock, make):
    await fill(storage, clock, 6)
    ticks = count()
    await make(batch=1, seconds=3, timer=lambda: float(next(ticks))).keep()
    assert await turns(storage) == 4


async def test_what_is_kept_for_days_is_looked_for_once_an_hour_unless_something_is_left(storage, clock, make):
    retention = make(batch=2, rows=3)
    await fill(storage, clock, 4)
    assert (await retention.keep())["log"] == 4 - await turns(storage)
    await retention.keep()
    assert await turns(storage) == 0
    await retention.keep()
    await fill(storage, clock, 1)
    assert dict(await retention.keep()) == {}
    await storage.short_term.touch("ann", "t")
    clock.now += timedelta(days=400)
    assert dict(await retention.keep()) == {"history": 1}
    assert (await retention.sweep())["log"] == 1


@pytest.mark.slow
async def test_several_at_once_delete_everything_once(storage, clock, make):
    await fill(storage, clock, 40)
    before = swept("log")
    gone = await asyncio.gather(*(make(batch=3).sweep() for _ in range(3)))
    rest = await make().sweep()
    assert sum(each.get("log", 0) for each in (*gone, rest)) == 40
    assert swept("log") - before == 40
    assert await turns(storage) == 0


async def test_one_that_is_stopped_half_way_leaves_whole_batches_and_tells_what_went(storage, clock, audit, make):
    await fill(storage, clock, 10)
    told = asyncio.Event()
    running = asyncio.create_task(make(batch=2).sweep(told=lambda _: told.set()))
    await told.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await turns(storage) in {2, 4, 6, 8}
    [entry] = audit.entries
    assert entry.counts["log"] == 10 - await turns(storage)
    await make().sweep()
    assert await turns(storage) == 0


class Broken:
    """Fails, as a table does that somebody keeps locked."""

    kinds = ("proposals",)

    async def sweep(self, at: At, *, batch: int):
        raise StorageError
        yield

    async def due(self, at: At) -> list[Due]:
        raise StorageError


async def test_a_kind_that_fails_is_told_and_keeps_no_other_from_going(storage, clock, make):
    await fill(storage, clock, 1)
    retention = make()
    retention.add(Broken())
    failures = ("discreet_retention_failures_total", {"kind": "proposals", "cause": StorageError.code})
    before = REGISTRY.get_sample_value(*failures) or 0
    assert (await retention.keep())["log"] == 1
    assert REGISTRY.get_sample_value(*failures) == before + 1
    with pytest.raises(StorageError):
        await retention.sweep()


async def test_what_went_is_in_the_audit_trail_without_what_lives_for_minutes(storage, clock, audit, make):
    await fill(storage, clock, 3)
    await storage.short_term.touch("ann", "t")
    await make().keep()
    clock.now += timedelta(days=400)
    await make().keep()
    await fill(storage, clock, 1)
    with acting(Actor(kind="operator")):
        await make().sweep()
    assert [(e.action, e.actor_kind, e.data, dict(e.counts)) for e in audit.entries] == [
        ("retention.sweep", "worker", "retention", {"log": 3, "sessions": 3}),
        ("retention.sweep", "operator", "retention", {"log": 1, "sessions": 1}),
    ]
    assert len({entry.user_key for entry in audit.entries}) == 1


class Unwritable(InMemoryAuditLog):
    """Takes no entry."""

    async def record(self, action, **details):
        raise StorageError


async def test_what_could_not_be_told_is_told_with_the_next_pass(storage, clock, audit, make):
    retention = make()
    retention._audit = Unwritable()
    for _ in range(2):
        await fill(storage, clock, 3)
        with pytest.raises(StorageError):
            await retention.keep()
        assert await turns(storage) == 0
    retention._audit = audit
    for _ in range(2):
        await retention.keep()
    [entry] = audit.entries
    assert (entry.action, entry.counts) == ("retention.sweep", {"log": 6, "sessions": 6})


async def test_time_is_the_databases_where_no_clock_is_given(storage, clock, make):
    clock.now = (await storage.retention._at()).now
    retention = make()
    retention._clock = None
    at = await retention._at()
    assert abs(at.now - (await retention._at()).now) < timedelta(minutes=5)
    assert at.until("log") == at.now - timedelta(days=30)


@pytest.mark.slow
async def test_an_open_storage_sweeps_by_itself(database, rows):
    async with open_storage(database, embeddings=StubEmbeddings(dims=64), maintained=False) as storage:
        await storage.log.append(turn("r", "Hello"))
    rows("UPDATE discreet.conversation_log SET ended_at = now() - interval '31 days'")
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)), asyncio.timeout(60):
        left = rows("SELECT count(*) FROM discreet.conversation_log")
        while left != [(0,)]:
            await asyncio.sleep(0.05)
            left = rows("SELECT count(*) FROM discreet.conversation_log")
