"""Writers of one user wait in line, and nobody else waits for them."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import psycopg
import pytest
from testkit.keys import USER_KEYS

from discreet.errors import UserBusyError
from discreet.settings import Settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.storage.database.users import locks as user_locks
from discreet.storage.database.users.locks import UserLocks
from discreet.testing import StubEmbeddings

ANN, BOB = USER_KEYS.of_user("ann"), USER_KEYS.of_user("bob")
HOLD = "SELECT FROM discreet.user_memories WHERE user_key = %s FOR NO KEY UPDATE"


@pytest.fixture
async def storage(database):
    settings = Settings(pool_size=2, reembed=False)
    async with open_storage(database, embeddings=StubEmbeddings(dims=64), settings=settings) as opened:
        yield opened


async def save(storage, user_id, text="Keeps parrots"):
    return await storage.memories.save(user_id, [MemoryRecord(text=text)])


@asynccontextmanager
async def held_elsewhere(storage, user_key):
    """Hold a user as another process does that saves for them."""
    async with await psycopg.AsyncConnection.connect(storage.dsn) as other:
        await other.execute(HOLD, (user_key,))
        yield
        await other.rollback()


@pytest.mark.slow
async def test_others_go_on_while_one_user_is_held_elsewhere(storage):
    await save(storage, "ann")
    async with held_elsewhere(storage, ANN):
        waiting = [asyncio.create_task(save(storage, "ann", f"Fact {number}")) for number in range(8)]
        await asyncio.sleep(0.05)
        async with asyncio.timeout(10):  # the pool has two connections, and nine callers want one
            for number in range(20):
                await save(storage, f"user {number}")
            assert len(await storage.memories.search("ann", "parrots")) == 1
        assert not any(task.done() for task in waiting)
    await asyncio.gather(*waiting)
    assert len(await storage.memories.latest("ann")) == 9


async def test_others_go_on_while_somebody_new_is_saved_for_elsewhere(storage):
    async with open_storage(storage.dsn, embeddings=StubEmbeddings(dims=64)) as elsewhere:
        async with UserLocks(elsewhere.pool).locked([ANN]):
            touching = [asyncio.create_task(storage.short_term.touch("ann", f"thread {n}")) for n in range(8)]
            saving = asyncio.create_task(save(storage, "ann"))
            await asyncio.sleep(0.05)
            async with asyncio.timeout(10):  # the pool has two connections
                await save(storage, "bob")
                await asyncio.gather(*touching)
            assert not saving.done()
        await saving


async def test_others_go_on_while_somebody_is_being_erased(storage):
    await save(storage, "ann")
    async with await psycopg.AsyncConnection.connect(storage.dsn) as eraser:
        await eraser.execute("UPDATE discreet.users SET epoch = epoch + 1 WHERE user_key = %s", (ANN,))
        await eraser.execute("DELETE FROM discreet.user_memories WHERE user_key = %s", (ANN,))
        waiting = [asyncio.create_task(save(storage, "ann")), asyncio.create_task(storage.short_term.touch("ann", "t"))]
        async with open_storage(storage.dsn, embeddings=StubEmbeddings(dims=64)) as elsewhere:
            waiting.append(asyncio.create_task(save(elsewhere, "ann")))
            await asyncio.sleep(0.1)
            with psycopg.connect(storage.dsn) as connection:
                waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
                assert connection.execute(waits).fetchone() == (0,)
            assert not any(task.done() for task in waiting)
            await eraser.rollback()
            await asyncio.gather(*waiting)


@pytest.mark.slow
async def test_who_comes_first_is_served_first(storage):
    await save(storage, "ann")
    async with held_elsewhere(storage, ANN):
        waiting = []
        for number in range(10):
            waiting.append(asyncio.create_task(save(storage, "ann", f"Number {number}")))
            await asyncio.sleep(0)
    saved = [record for [record] in await asyncio.gather(*waiting)]
    assert sorted(saved, key=lambda record: record.created_at) == saved


async def test_a_line_that_is_too_long_is_refused_at_once(storage, monkeypatch):
    monkeypatch.setattr(user_locks, "MAX_WAITING", 3)
    await save(storage, "ann")
    async with held_elsewhere(storage, ANN):
        waiting = [asyncio.create_task(save(storage, "ann", f"Fact {number}")) for number in range(4)]
        await asyncio.sleep(0.05)
        with pytest.raises(UserBusyError, match="3 wait already"):
            await save(storage, "ann")
        await save(storage, "bob")
    await asyncio.gather(*waiting)


@pytest.mark.slow
async def test_those_before_are_not_waited_for_without_end(storage, monkeypatch):
    monkeypatch.setattr(user_locks, "LINE_SECONDS", 0.1)
    await save(storage, "ann")
    async with held_elsewhere(storage, ANN):
        first = asyncio.create_task(save(storage, "ann", "First"))
        await asyncio.sleep(0.05)
        with pytest.raises(UserBusyError):
            await save(storage, "ann", "Second")
    await first
    assert len(await storage.memories.latest("ann")) == 2


async def test_another_process_is_not_waited_for_without_end(storage):
    locks = UserLocks(storage.pool)
    await save(storage, "ann")
    async with held_elsewhere(storage, ANN):
        with pytest.raises(UserBusyError):
            async with locks.locked([ANN], wait_seconds=0.2):
                pass
    async with locks.locked([ANN, BOB]) as locked:
        assert {key: counted.memories for key, counted in locked.memories.items()} == {ANN: 1, BOB: 0}


async def test_who_is_cancelled_in_line_leaves_it(storage):
    await save(storage, "ann")
    async with held_elsewhere(storage, ANN):
        waiting = [asyncio.create_task(save(storage, "ann", f"Fact {number}")) for number in range(3)]
        await asyncio.sleep(0.05)
        waiting[1].cancel()
        await asyncio.sleep(0.05)
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(results[1], asyncio.CancelledError)
    assert len(await storage.memories.latest("ann")) == 3
