"""Memories of another embedding model or size are embedded anew while everything else goes on."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from contextlib import asynccontextmanager

import psycopg
import pytest
from psycopg.rows import dict_row
from testkit.keys import USER_KEYS

from discreet.errors import ProviderError
from discreet.settings import Settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.storage.database.connecting.connection import connect
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.database.users.locks import UserLocks
from discreet.storage.memories.spaces.reembedding import Reembedding
from discreet.storage.memories.spaces.spaces import hold_space, register_space
from discreet.testing import InMemoryKeys, StubEmbeddings


def quiet():
    """Return settings without anything in the background."""
    return Settings(reembed=False)


_ROWS = """
SELECT s.name, vector_dims(m.embedding) AS dims, bit_length(m.sketch) AS bits,
       m.text, m.embedding::text AS vector
FROM discreet.memory m JOIN discreet.embedding_space s USING (space_key) ORDER BY m.text
"""
_OTHER_WORDS = "Plays chess on Sundays"


class CountingEmbeddings(StubEmbeddings):
    """Remembers what it was asked to embed, and can be made to wait or to fail."""

    def __init__(self, dims=256, *, refuses=(), fails=0):
        super().__init__(dims)
        self.texts = []
        self.refuses = refuses
        self.fails = fails
        self.gate = None

    async def aembed_documents(self, texts):
        self.texts += texts
        if self.gate is not None:
            await self.gate()
        if self.fails:
            self.fails -= 1
            raise ProviderError
        if any(text in self.refuses for text in texts):
            raise ProviderError
        return await super().aembed_documents(texts)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr("discreet.storage.memories.spaces.retry.LONGEST_WAIT_SECONDS", 0.0)


def rows_of(dsn):
    with psycopg.connect(dsn, row_factory=dict_row) as connection:
        return connection.execute(_ROWS).fetchall()


async def fill(dsn, *, dims=256, people=("ann",), each=3, keys=None):
    async with open_storage(dsn, embeddings=StubEmbeddings(dims), settings=quiet(), keys=keys) as storage:
        for person in people:
            await storage.memories.save(
                person,
                [
                    MemoryRecord(text=f"{person} saw bird number {n}x", type="turn", thread_id="t", position=n)
                    for n in range(each)
                ],
            )


@asynccontextmanager
async def mover(dsn, embeddings, keys=None):
    """Yield the storage, and what moves everything to the space of `embeddings`."""
    async with open_storage(dsn, embeddings=embeddings, settings=quiet(), keys=keys) as storage:
        space = await register_space(storage.pool, embeddings)
        yield (
            storage,
            Reembedding(
                storage.works_pool,
                locks=UserLocks(storage.works_pool),
                embeddings=embeddings,
                space=space,
                sealer=FieldSealer(keys),
            ),
        )


async def move(dsn, embeddings, keys=None):
    async with mover(dsn, embeddings, keys) as (_, reembedding), await connect(dsn) as guard:
        return await reembedding.run(guard)


async def eventually(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


@pytest.mark.slow
async def test_another_size_is_embedded_in_the_background(database):
    await fill(database, people=("ann", "bob"))
    async with open_storage(database, embeddings=StubEmbeddings(128), settings=Settings()) as storage:
        await eventually(lambda: {row["dims"] for row in rows_of(database)} == {128})
        [hit, *_] = await storage.memories.search("ann", "bird number 2x")
        assert hit.similarity > 0.5
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT count(*) FROM discreet.user_memories WHERE space_key IS NULL").fetchone() == (
            0,
        )


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(256, 1536, 512), (1024, 2048, 256)])
async def test_every_size_can_follow_every_other(database, sizes):
    await fill(database, dims=sizes[0])
    for dims in sizes[1:]:
        moved = await move(database, StubEmbeddings(dims))
        assert (moved.rows, moved.failures, moved.finished) == (3, 0, True)
        assert [(row["dims"], row["bits"]) for row in rows_of(database)] == [(dims, dims)] * 3


@pytest.mark.slow
async def test_vectors_are_those_that_saving_would_have_made(database, empty_database):
    await fill(database)
    await move(database, StubEmbeddings(128))
    await fill(empty_database, dims=128)
    assert rows_of(database) == rows_of(empty_database)


async def test_nothing_is_embedded_when_there_is_nothing_to_do(database):
    await fill(database)
    embeddings = CountingEmbeddings()
    async with mover(database, embeddings) as (_, reembedding):
        assert await reembedding.left() == 0
    await move(database, embeddings)
    assert embeddings.texts == []


async def test_sealed_texts_are_embedded_and_stay_sealed(database):
    keys = InMemoryKeys()
    await fill(database, keys=keys)
    assert (await move(database, StubEmbeddings(128), keys)).rows == 3
    assert {(row["text"], row["dims"]) for row in rows_of(database)} == {(None, 128)}


@pytest.mark.slow
async def test_a_row_whose_key_is_gone_is_left_and_the_others_are_moved(database):
    await fill(database, keys=InMemoryKeys(), each=2)
    await fill(database, people=["bob"], each=2)
    moved = await move(database, StubEmbeddings(128))
    assert (moved.rows, moved.failures, moved.finished) == (2, 2, True)


@pytest.mark.slow
async def test_more_people_and_rows_than_a_batch_holds(database, monkeypatch):
    monkeypatch.setattr("discreet.storage.memories.spaces.reembedding.BATCH_ROWS", 4)
    monkeypatch.setattr("discreet.storage.memories.spaces.reembedding.BATCH_USERS", 3)
    await fill(database, people=[f"p{n}" for n in range(8)], each=5)
    embeddings = CountingEmbeddings(128)
    assert (await move(database, embeddings)).rows == 40
    assert len(embeddings.texts) == len(set(embeddings.texts)) == 40


@pytest.mark.slow
async def test_two_at_once_embed_no_row_twice(database, monkeypatch):
    monkeypatch.setattr("discreet.storage.memories.spaces.reembedding.BATCH_ROWS", 4)
    await fill(database, people=("ann", "bob"), each=10)
    embeddings = CountingEmbeddings(128)
    embeddings.gate = lambda: asyncio.sleep(0.005)

    async def until_nothing_is_left():
        async with mover(database, embeddings) as (_, reembedding), await connect(database) as guard:
            while await reembedding.left():
                await reembedding.run(guard)
                await asyncio.sleep(0.002)

    await asyncio.gather(until_nothing_is_left(), until_nothing_is_left())
    assert sorted(embeddings.texts) == sorted(row["text"] for row in rows_of(database))


async def test_a_text_saved_meanwhile_keeps_its_own_vector(database):
    embeddings = CountingEmbeddings(128)
    await fill(database, each=2)
    async with mover(database, embeddings) as (storage, reembedding), await connect(database) as guard:
        first = (await storage.memories.latest("ann", limit=1))[0]
        changed = first.model_copy(update={"text": _OTHER_WORDS})

        async def meanwhile():
            embeddings.gate = None
            async with asyncio.timeout(5):  # a saver must not wait for the embedding that is under way
                await storage.memories.save("ann", [changed])
                assert await storage.memories.search("ann", "chess")

        embeddings.gate = meanwhile
        assert (await reembedding.run(guard)).rows == 1
        assert await reembedding.left() == 0
        [hit, *_] = await storage.memories.search("ann", _OTHER_WORDS)
        assert hit.record.text == _OTHER_WORDS
        assert hit.similarity == pytest.approx(1.0, abs=0.01)


async def test_a_row_saved_by_an_older_process_meanwhile_is_moved_too(database):
    await fill(database, each=2)
    embeddings = CountingEmbeddings(128)
    async with mover(database, embeddings) as (_, reembedding), await connect(database) as guard:

        async def meanwhile():
            embeddings.gate = None
            await fill(database, people=["ann"], each=1)

        embeddings.gate = meanwhile
        await reembedding.run(guard)
        if await reembedding.left():
            await reembedding.run(guard)
        assert await reembedding.left() == 0
    assert {row["dims"] for row in rows_of(database)} == {128}


@pytest.mark.dialect
async def test_who_searches_comes_first(database, monkeypatch):
    monkeypatch.setattr("discreet.storage.memories.spaces.reembedding.BATCH_USERS", 1)
    await fill(database, people=("ann", "bob", "eve"), each=1)
    embeddings = CountingEmbeddings(128)
    async with mover(database, embeddings) as (_, reembedding), await connect(database) as guard:
        last = max(("ann", "bob", "eve"), key=USER_KEYS.of_user)
        reembedding.want(USER_KEYS.of_user(last))
        await reembedding.run(guard)
    assert embeddings.texts[0].split()[0] == last


async def test_rows_of_another_space_are_found_by_their_words(database):
    await fill(database)
    async with open_storage(database, embeddings=StubEmbeddings(1536), settings=quiet()) as storage:
        hits = await storage.memories.search("ann", "bird number 2x", threshold=0.6)
        assert hits[0].record.text.endswith("2x")
        assert hits[0].similarity == 0
        await storage.memories.save("ann", [MemoryRecord(text=_OTHER_WORDS)])
        assert (await storage.memories.search("ann", "chess on Sundays"))[0].record.text == _OTHER_WORDS


async def test_a_failing_model_is_asked_again(database):
    await fill(database)
    embeddings = CountingEmbeddings(128, fails=3)
    assert (await move(database, embeddings)).rows == 3


async def test_a_refused_text_holds_up_no_other(database):
    await fill(database, each=5)
    refused = rows_of(database)[3]["text"]
    moved = await move(database, CountingEmbeddings(128, refuses={refused}))
    assert (moved.rows, moved.failures, moved.finished) == (4, 1, True)
    assert [row["text"] for row in rows_of(database) if row["dims"] == 256] == [refused]


async def test_a_model_that_is_down_is_logged_and_stops_nothing(database, caplog):
    await fill(database)
    embeddings = CountingEmbeddings(128, fails=10**6)
    with caplog.at_level(logging.WARNING):
        async with open_storage(database, embeddings=embeddings, settings=Settings()) as storage:
            await eventually(lambda: "memory.maintenance_failed" in caplog.text)
            assert await storage.memories.search("ann", "bird")
    assert "work=reembedding cause=provider" in caplog.text
    assert "bird" not in caplog.text


async def test_closing_stops_what_is_under_way(database):
    await fill(database)
    embeddings = CountingEmbeddings(128)
    begun = asyncio.Event()

    async def for_ever():
        begun.set()
        await asyncio.Event().wait()

    embeddings.gate = for_ever
    async with asyncio.timeout(10), open_storage(database, embeddings=embeddings, settings=Settings()):
        await begun.wait()
    assert {row["dims"] for row in rows_of(database)} == {256}


async def test_an_older_process_stops_when_a_new_space_is_opened(database):
    await fill(database)
    async with (
        mover(database, StubEmbeddings(128)) as (_, old),
        mover(database, StubEmbeddings(64)) as (_, new),
        await connect(database) as guard,
    ):
        assert (await old.run(guard)).rows == 0
        assert (await new.run(guard)).rows == 3
        assert (await old.run(guard)).rows == 0


async def test_restarts_of_an_older_process_do_not_turn_it_round(database):
    async with open_storage(database, embeddings=StubEmbeddings(128), settings=quiet()) as storage:
        before = await register_space(storage.pool, StubEmbeddings(64))
        now = await register_space(storage.pool, StubEmbeddings(32))
        for _ in range(3):
            restarted = await register_space(storage.pool, StubEmbeddings(64))
            assert not await hold_space(storage.pool, restarted)
            assert await hold_space(storage.pool, now)
        assert not await hold_space(storage.pool, before, idle=0.0)


async def test_a_change_taken_back_counts_when_nobody_uses_what_it_was_changed_to(database):
    async with open_storage(database, embeddings=StubEmbeddings(128), settings=quiet()) as storage:
        await register_space(storage.pool, StubEmbeddings(64))
        left = await register_space(storage.pool, StubEmbeddings(32))
        back = await register_space(storage.pool, StubEmbeddings(64))
        assert not await hold_space(storage.pool, back)
        assert await hold_space(storage.pool, back, idle=0.0)
        assert not await hold_space(storage.pool, left, idle=0.0)
        assert await hold_space(storage.pool, back)


_WORKER = """
import asyncio, sys
from discreet.settings import Settings
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

class Slow(StubEmbeddings):
    async def aembed_documents(self, texts):
        await asyncio.sleep(float(sys.argv[2]))
        return await super().aembed_documents(texts)

async def main():
    async with open_storage(sys.argv[1], embeddings=Slow(1536), settings=Settings()):
        await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.slow
async def test_a_killed_process_loses_nothing_and_the_next_goes_on(database):
    await fill(database, people=[f"p{n}" for n in range(40)], each=10)
    before = [row["text"] for row in rows_of(database)]

    def moved():
        return sum(row["dims"] == 1536 for row in rows_of(database))

    for least in (1, 100):  # killed twice, at different places
        worker = await asyncio.create_subprocess_exec(sys.executable, "-c", _WORKER, database, "0.15")
        try:
            await eventually(lambda least=least: moved() >= least)
        finally:
            worker.kill()
            await worker.wait()
    assert 0 < moved() < 400
    for row in rows_of(database):
        assert (row["dims"], row["bits"]) in {(256, 256), (1536, 1536)}
        assert row["name"].endswith(f":{row['dims']}")
    embeddings = CountingEmbeddings(1536)
    done = moved()
    assert (await move(database, embeddings)).rows == 400 - done == len(embeddings.texts)
    assert [row["text"] for row in rows_of(database)] == before
    assert moved() == 400
