"""What was under way while a user was erased stores nothing, wherever it writes."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import psycopg
import pytest
from testkit.keys import USER_KEYS

from discreet.errors import UserErasedError
from discreet.ports import RollingSummary, Started, Work
from discreet.settings import Settings
from discreet.state.records import MemoryRecord, TurnRecord
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ANN = USER_KEYS.of_user("ann")
ERASE = "UPDATE discreet.users SET epoch = epoch + 1 WHERE user_key = %s"
TABLES = ("memory", "conversation_log", "session_record", "rolling_summary", "user_token")


async def save(storage, epoch):
    await storage.memories.save("ann", [MemoryRecord(text="Keeps parrots")], epoch=epoch)


async def log(storage, epoch):
    said = TurnRecord(
        request_id="r", user_id="ann", thread_id="t", input_text="Hi", output_text="Yes", started_at=NOON, ended_at=NOON
    )
    await storage.log.append(said, epoch=epoch)


async def summarise(storage, epoch):
    new = RollingSummary(text="About parrots", rounds=3, last_message_id="m")
    await storage.summaries.commit("ann", "t", expected=RollingSummary(), new=new, epoch=epoch)


WRITES = pytest.mark.parametrize("write", [save, log, summarise])


@pytest.fixture
async def storage(database):
    settings = Settings(pool_size=4, reembed=False)
    async with open_storage(database, embeddings=StubEmbeddings(dims=64), settings=settings) as opened:
        yield opened


def rows_of(dsn):
    with psycopg.connect(dsn) as connection:
        counts = {table: connection.execute(f"SELECT count(*) FROM discreet.{table}").fetchone() for table in TABLES}
    return {table: count for table, (count,) in counts.items() if count}


@WRITES
async def test_who_is_new_has_the_first_epoch(storage, write):
    await write(storage, 1)
    assert rows_of(storage.dsn)
    with psycopg.connect(storage.dsn) as connection:
        assert connection.execute("SELECT user_key, epoch FROM discreet.users").fetchall() == [(ANN, 1)]


@WRITES
async def test_work_of_an_earlier_epoch_stores_nothing(storage, write):
    with psycopg.connect(storage.dsn) as connection:
        connection.execute("INSERT INTO discreet.users (user_key, epoch) VALUES (%s, 2)", (ANN,))
    with pytest.raises(UserErasedError):
        await write(storage, 1)
    assert rows_of(storage.dsn) == {}
    await write(storage, 2)
    assert rows_of(storage.dsn)


@WRITES
async def test_an_erasure_that_is_not_committed_yet_is_waited_for(storage, write):
    with psycopg.connect(storage.dsn) as connection:
        connection.execute("INSERT INTO discreet.users (user_key) VALUES (%s)", (ANN,))
        connection.commit()
        connection.execute(ERASE, (ANN,))
        writing = asyncio.create_task(write(storage, 1))
        await asyncio.sleep(0.1)
        assert not writing.done()
        connection.commit()
    with pytest.raises(UserErasedError):
        await writing
    assert rows_of(storage.dsn) == {}


async def test_an_erasure_waits_for_a_writer_who_came_before(storage):
    await save(storage, 1)
    async with await psycopg.AsyncConnection.connect(storage.dsn) as eraser:
        async with storage.memories._locked(ANN):
            erasing = asyncio.create_task(eraser.execute(ERASE, (ANN,)))
            await asyncio.sleep(0.1)
            assert not erasing.done()
        await erasing


async def test_nobody_waits_for_an_erasure_with_a_connection_in_hand(storage):
    await save(storage, 1)
    async with await psycopg.AsyncConnection.connect(storage.dsn) as eraser:
        await eraser.execute(ERASE, (ANN,))
        waiting = [asyncio.create_task(log(storage, None)) for _ in range(6)]  # the pool has four connections
        await asyncio.sleep(0.05)
        async with asyncio.timeout(5):
            assert len(await storage.memories.search("ann", "parrots")) == 1
        assert not any(task.done() for task in waiting)
        await eraser.commit()
    await asyncio.gather(*waiting)


OWNED = ("memory_stats", "memory", "rolling_summary", "short_term_round", "short_term_session", "short_term_work")
WORK = Work(kind="request", user_id="ann", ref="r")


async def finish(storage, claim):
    return await storage.short_term.finish(WORK, claim.token, "Done")


async def release(storage, claim):
    return await storage.short_term.release(WORK, claim.token)


async def forget_session(storage, claim):
    return await storage.short_term.forget("ann", "t")


async def forget_user(storage, claim):
    return await storage.short_term.forget("ann")


async def forget_summary(storage, claim):
    return await storage.summaries.forget("ann", "t")


async def count_usage(storage, claim):
    await storage.memories.search("ann", "parrots")
    return await storage.memories._usage.flush()


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("change", [finish, release, forget_session, forget_user, forget_summary, count_usage])
async def test_nobody_waits_to_change_what_is_being_erased_with_a_connection_in_hand(storage, change):
    await save(storage, 1)
    await summarise(storage, 1)
    await storage.short_term.touch("ann", "t")
    claim = await storage.short_term.claim(WORK, lease=60)
    assert isinstance(claim, Started)
    async with await psycopg.AsyncConnection.connect(storage.dsn) as eraser:
        await eraser.execute(ERASE, (ANN,))
        for table in OWNED:
            await eraser.execute(f"DELETE FROM discreet.{table} WHERE user_key = %s", (ANN,))
        waiting = [asyncio.create_task(change(storage, claim)) for _ in range(6)]  # the pool has four connections
        await asyncio.sleep(0.05)
        async with asyncio.timeout(5):
            await storage.memories.save("bob", [MemoryRecord(text="Keeps cats")])
        await eraser.commit()
    assert not any(await asyncio.gather(*waiting))
    assert not rows_of(storage.dsn).get("rolling_summary")


async def test_there_is_nothing_to_change_of_who_is_not_known(storage):
    claim = Started(token="0" * 32)
    for change in (finish, release, forget_session, forget_user, forget_summary):
        assert not await change(storage, claim)
    with psycopg.connect(storage.dsn) as connection:
        assert connection.execute("SELECT count(*) FROM discreet.users").fetchone() == (0,)
