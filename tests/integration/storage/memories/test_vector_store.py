"""Vectors of one's own over the table of memories."""

from __future__ import annotations

import psycopg
import pytest
from kit.search import in_rows

from discreet.encryption import Keyring, make_key
from discreet.errors import InvalidVectorError
from discreet.ports import VectorStore
from discreet.settings import Settings
from discreet.state.records import MemoryFilters, MemoryRecord
from discreet.storage import open_storage
from discreet.testing import VECTOR_STORE_CHECKS, InMemoryVectorStore, StubEmbeddings

DIMS = 64
WIDE = 1_536
MAIL = "ann" + "@" + "example.com"


def along(number, dims=DIMS):
    return [float(n == number) for n in range(dims)]


def opened(dsn, *, dims=DIMS, keys=None, **settings):
    return open_storage(dsn, embeddings=StubEmbeddings(dims=dims), settings=Settings(**settings), keys=keys)


@pytest.fixture(params=["memory", "covered", "wide", "sealed"])
def place(request):
    """Return which store it is, and the DSN of a database for it; not asynchronous, as the template is made by asyncio.run."""
    return request.param, None if request.param == "memory" else request.getfixturevalue("database")


@pytest.fixture
async def store(place):
    kind, dsn = place
    if kind == "memory":
        yield InMemoryVectorStore(DIMS)
        return
    keys = Keyring([make_key()]) if kind == "sealed" else None
    async with opened(dsn, dims=WIDE if kind == "wide" else DIMS, keys=keys) as storage:
        yield storage.vectors


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("check", VECTOR_STORE_CHECKS, ids=lambda check: check.__name__)
async def test_it_keeps_the_rules_of_the_port(store: VectorStore, check):
    await check(store)


async def test_what_is_stored_is_a_memory(database):
    async with opened(database) as storage:
        stored = await storage.vectors.upsert("ann", MemoryRecord(text="Keeps two parrots"), along(3))
        assert await storage.memories.get("ann", stored.entry_id) == stored
        [hit] = await storage.memories.search("ann", "parrots")
        assert hit.record == stored
        [saved] = await storage.memories.save("ann", [MemoryRecord(text="Owns a boat")])
        vector = StubEmbeddings(dims=DIMS).embed_query("boat")
        found = await storage.vectors.search("ann", vector, limit=1)
        assert [hit.record for hit in found] == [saved]
        assert found[0].similarity == pytest.approx(found[0].score)


async def test_replacing_leaves_counts_and_words_right(database):
    async with opened(database) as storage:
        record = MemoryRecord(text="Keeps two parrots")
        await storage.vectors.upsert("ann", record, along(0))
        await storage.vectors.upsert("ann", record.model_copy(update={"text": "Owns a boat"}), along(1))
        assert [hit.record.text for hit in await storage.memories.search("ann", "boat", threshold=1)] == ["Owns a boat"]
        assert await storage.memories.search("ann", "parrots", threshold=1) == []
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT memories FROM discreet.user_memories").fetchall() == [(1,)]


async def test_the_limit_of_memories_holds(database):
    async with opened(database, max_memories_per_user=10) as storage:
        for number in range(12):
            await storage.vectors.upsert("ann", MemoryRecord(text=f"Fact {number}"), along(number))
        assert len(await storage.memories.latest("ann", held=False)) <= 10


async def test_no_value_of_a_text_or_tag_reaches_the_database(database):
    record = MemoryRecord(text=f"Write to {MAIL}", tags=[MAIL], feedback=[{"comment": MAIL}], reasoning=MAIL)
    async with opened(database) as storage:
        await storage.vectors.upsert("ann", record, along(0))
        tagged = await storage.vectors.search("ann", along(0), filters=MemoryFilters(tags=[MAIL]))
        assert [hit.record.text for hit in tagged] == ["Write to <EMAIL>"]
    assert in_rows(database, "Write to", mail=MAIL) == {"Write to": {"table memory"}}


async def test_vectors_of_another_model_are_not_compared(database):
    async with opened(database, dims=128, reembed=False) as storage:
        await storage.vectors.upsert("ann", MemoryRecord(text="Keeps two parrots"), along(0, 128))
    async with opened(database, reembed=False) as storage:
        assert storage.vectors.dims == DIMS
        assert await storage.vectors.search("ann", along(0)) == []
        with pytest.raises(InvalidVectorError, match=r"has 128 numbers, and those of this store have 64.*open_storage"):
            await storage.vectors.search("ann", along(0, 128))
