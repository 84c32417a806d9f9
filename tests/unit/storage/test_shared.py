import asyncio
from contextlib import asynccontextmanager
from dataclasses import fields
from uuid import NAMESPACE_URL, uuid4, uuid5

import pytest

from discreet.errors import StorageUnavailableError
from discreet.state.memory_settings import MemorySettings
from discreet.state.records import MemoryRecord
from discreet.storage.background import Background
from discreet.storage.shared import SharedStorage
from discreet.storage.wiring import Storage
from discreet.testing import (
    InMemoryConversationLog,
    InMemoryMemories,
    InMemoryRollingSummaries,
    InMemorySettingsStore,
    InMemoryShortTermStore,
    InMemoryVectorStore,
)


class Jobs:
    """A part of background memory that says which event loop its methods run on."""

    async def latest(self, *, limit):
        return [asyncio.get_running_loop()] * limit


class Keys:
    def of_user(self, user_id):
        return uuid5(NAMESPACE_URL, user_id)


def background_of_fakes():
    parts = {field.name: None for field in fields(Background)}
    return Background(**parts | {"jobs": Jobs(), "keys": Keys(), "rolling_of": lambda _: InMemoryRollingSummaries()})


class Opener:
    """Opens fakes, and counts."""

    def __init__(self):
        self.opened = self.closed = 0

    @asynccontextmanager
    async def __call__(self):
        self.opened += 1
        await asyncio.sleep(0.01)
        needed = {field.name: None for field in fields(Storage) if field.default is field.default_factory}
        given = {
            "memories": InMemoryMemories(),
            "vectors": InMemoryVectorStore(8),
            "log": InMemoryConversationLog(),
            "short_term": InMemoryShortTermStore(),
            "summaries": InMemoryRollingSummaries(),
            "background": background_of_fakes().bound_to(asyncio.get_running_loop()),
            "memory_settings": InMemorySettingsStore(MemorySettings(memory_retrieve_limit=9)),
            "dsn": "",
        }
        yield Storage(**needed | given)
        self.closed += 1


@pytest.fixture
def opener():
    return Opener()


async def test_parts_that_start_at_once_share_one_storage(opener):
    shared = SharedStorage(opener)

    async def part():
        async with shared.lease() as storage:
            await asyncio.sleep(0.02)
            return storage

    first, second = await asyncio.gather(part(), part())
    assert first is second
    assert (opener.opened, opener.closed) == (1, 1)


async def test_it_opens_again_after_the_last_lease(opener):
    shared = SharedStorage(opener)
    for _ in range(2):
        async with shared.lease():
            pass
    assert (opener.opened, opener.closed) == (2, 2)


async def test_memories_and_log_work_while_somebody_holds_a_lease(opener):
    shared = SharedStorage(opener)
    async with shared.lease() as storage:
        (record,) = await shared.memories.save("ann", [MemoryRecord(text="Keeps parrots")])
        assert [hit.record.text for hit in await shared.memories.search("ann", "parrots")] == ["Keeps parrots"]
        assert await shared.memories.delete("ann", record.entry_id)
        assert storage.log.turns == []
    with pytest.raises(StorageUnavailableError, match=r"langgraph\.json"):
        await shared.memories.delete("ann", uuid4())


def test_settings_are_known_before_anything_is_open_and_without_an_event_loop(opener, monkeypatch):
    monkeypatch.setenv("DISCREET_RETRIEVE_LIMIT", "4")
    shared = SharedStorage(opener)
    assert shared.memory_settings.live.memory_retrieve_limit == 4

    async def changed():
        async with shared.lease():
            before = shared.memory_settings.live.memory_retrieve_limit
            await shared.memory_settings.change({"memory_retrieve_limit": 3}, by="ann")
            elsewhere = await asyncio.to_thread(lambda: shared.memory_settings.live.memory_retrieve_limit)
            other_loop = await asyncio.to_thread(asyncio.run, seen())
            return before, elsewhere, other_loop, shared.memory_settings.live.memory_retrieve_limit

    async def seen():
        return shared.memory_settings.live.memory_retrieve_limit

    assert asyncio.run(changed()) == (9, 3, 3, 3)
    assert shared.memory_settings.live.memory_retrieve_limit == 4


async def test_settings_can_be_changed_while_somebody_holds_a_lease_only(opener):
    shared = SharedStorage(opener)
    with pytest.raises(StorageUnavailableError):
        await shared.memory_settings.change({"memory_retrieve_limit": 3}, by="ann")


async def test_background_memory_works_while_somebody_holds_a_lease(opener):
    background = SharedStorage(opener).background
    with pytest.raises(StorageUnavailableError):
        await background.jobs.latest(limit=1)
    with pytest.raises(StorageUnavailableError):
        background.key_of("ann")
    shared = SharedStorage(opener)
    async with shared.lease():
        loop = asyncio.get_running_loop()
        assert await shared.background.jobs.latest(limit=2) == [loop, loop]
        assert shared.background.key_of("ann") == Keys().of_user("ann")
        rolling = shared.background.rolling_of(uuid4())
        assert (await rolling.get("ann", "thread")).rounds == 0


async def test_background_memory_of_another_loop_runs_on_its_own(opener):
    shared = SharedStorage(opener)
    async with shared.lease():

        async def elsewhere():
            return await shared.background.jobs.latest(limit=1)

        assert await asyncio.to_thread(asyncio.run, elsewhere()) == [asyncio.get_running_loop()]


def test_each_event_loop_has_a_storage_of_its_own(opener):
    shared = SharedStorage(opener)

    async def hold():
        async with shared.lease() as storage:
            return storage

    assert asyncio.run(hold()) is not asyncio.run(hold())


async def test_a_storage_that_does_not_open_can_be_tried_again(opener):
    attempts = []

    @asynccontextmanager
    async def sometimes():
        attempts.append(1)
        if len(attempts) == 1:
            raise StorageUnavailableError
        async with opener() as storage:
            yield storage

    shared = SharedStorage(sometimes)
    with pytest.raises(StorageUnavailableError):
        async with shared.lease():
            pass
    async with shared.lease() as storage:
        assert storage is shared.current
