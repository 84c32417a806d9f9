"""Memories without an embedding model: the same statements, words alone."""

import pytest

from discreet.settings import Settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage

PARROT = "Keeps an African Grey parrot"
FACTS = [PARROT, "Ходит к врачу в Казани", "Bị dị ứng đậu phộng", "养了一只猫，叫小白", "Works as a nurse"]


@pytest.fixture(params=["convex", "rrf"])
async def memories(request, database):
    settings = Settings(_env_file=None, embedding_model="none", embedding_dims=None, fusion=request.param)
    async with open_storage(database, settings=settings) as storage:
        yield storage.memories


async def found(memories, query, threshold=0.6):
    return [hit.record.text for hit in await memories.search("ann", query, threshold=threshold)]


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("What about my parrot?", PARROT),
        ("К какому врачу я хожу?", FACTS[1]),
        ("Tôi dị ứng với gì?", FACTS[2]),
        ("猫", FACTS[3]),
    ],
)
async def test_a_memory_is_found_by_its_words(memories, query, text):
    await memories.save("ann", [MemoryRecord(text=fact) for fact in FACTS])
    assert await found(memories, query) == [text]
    assert await found(memories, query, threshold=1.0) == [text]


async def test_a_memory_is_not_found_by_its_meaning(memories):
    await memories.save("ann", [MemoryRecord(text=fact) for fact in FACTS])
    assert await found(memories, "flying animal") == []


async def test_without_a_threshold_what_shares_a_word_comes_first(memories):
    await memories.save("ann", [MemoryRecord(text=fact) for fact in FACTS])
    hits = await found(memories, "Is there a nurse?", threshold=None)
    assert (hits[0], len(hits)) == ("Works as a nurse", 5)


@pytest.mark.slow
async def test_a_fact_said_again_is_refreshed(memories):
    [first] = await memories.save("ann", [MemoryRecord(text=PARROT, tags=["pets"])])
    [again] = await memories.save("ann", [MemoryRecord(text=f" {PARROT}. ", importance=9, tags=["birds"])])
    assert again.entry_id == first.entry_id
    [kept] = await memories.latest("ann")
    assert (kept.importance, sorted(kept.tags)) == (9, ["birds", "pets"])


async def test_facts_said_twice_in_one_batch_are_kept_once(memories):
    """More than a handful are compared in this process instead of the database."""
    await memories.save("ann", [MemoryRecord(text=fact) for fact in FACTS * 3])
    await memories.save("ann", [MemoryRecord(text=fact) for fact in FACTS * 3])
    assert sorted(record.text for record in await memories.latest("ann")) == sorted(FACTS)


async def test_another_fact_stays_another_fact(memories):
    await memories.save("ann", [MemoryRecord(text="Lives in Hanoi"), MemoryRecord(text="Lives in Hue")])
    await memories.save("ann", [MemoryRecord(text="Has moved to Da Nang")])
    kept = await memories.latest("ann")
    assert len(kept) == 3
    assert [record.conflict_flags for record in kept] == [[], [], []]
