"""A person of few facts is told all of them, and the running thread takes no place from the others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from discreet.settings import Settings
from discreet.state.records import MemoryFilters, MemoryRecord
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

SAID = datetime(2026, 3, 1, tzinfo=UTC)
QUESTION = "zebra"
FACTS = [f"Owns thing{n} from shop{n * n}" for n in range(10)]


@pytest.fixture(params=[("convex", 64), ("rrf", 64), ("convex", 1_024)], ids=str)
async def memories(request, database):
    fusion, dims = request.param
    embeddings = StubEmbeddings(dims=dims)
    async with open_storage(database, settings=Settings(fusion=fusion), embeddings=embeddings) as storage:
        yield storage.memories


def facts(*texts, **values):
    return [MemoryRecord(text=text, **values) for text in texts]


def turns(thread, texts, kind="turn"):
    return [
        MemoryRecord(text=text, type=kind, thread_id=thread, position=at, created_at=SAID + timedelta(minutes=at))
        for at, text in enumerate(texts)
    ]


async def found(memories, query=QUESTION, user="ann", **options):
    return [hit.record.text for hit in await memories.search(user, query, **options)]


async def test_all_of_a_few_facts_are_told_though_none_is_near(memories):
    await memories.save("ann", facts(*FACTS), dedup=False)
    assert await found(memories, threshold=1.0) == []
    assert sorted(await found(memories, threshold=1.0, few=10)) == sorted(FACTS)
    assert await found(memories, threshold=1.0, few=9) == []


@pytest.mark.dialect
async def test_what_is_found_goes_first_and_each_comes_once(memories):
    await memories.save("ann", facts(*FACTS, "Keeps a zebra"), dedup=False)
    for limit in (1, 5, 50):
        texts = await found(memories, threshold=0.99, few=12, limit=limit)
        assert (texts[0], len(texts), len(set(texts))) == ("Keeps a zebra", 11, 11)


async def test_turns_and_summaries_are_no_facts_and_must_be_found(memories):
    await memories.save(
        "ann", [*facts(*FACTS), *turns("t", ["about boats", "a zebra", *["of this"] * 20])], dedup=False
    )
    texts = await found(memories, threshold=1.0, few=10, limit=1)
    assert (texts[0], sorted(texts[1:])) == ("a zebra", sorted(FACTS))


@pytest.mark.slow
@pytest.mark.dialect
async def test_only_what_holds_and_may_be_seen_counts(memories):
    await memories.save("ann", facts(*FACTS), dedup=False)
    await memories.save("ann", facts(*[f"Had item{n}" for n in range(5)], valid_to=SAID), dedup=False)
    await memories.save("ann", facts(*[f"Sold part{n}" for n in range(5)], app_name="shop"), dedup=False)
    await memories.save("bob", facts("Is somebody else"))
    here = MemoryFilters(app_name="default")
    assert sorted(await found(memories, threshold=1.0, few=10, filters=here)) == sorted(FACTS)
    assert await found(memories, threshold=1.0, few=10) == []
    assert await found(memories, threshold=1.0, few=10, user="bob") == ["Is somebody else"]
    assert await found(memories, threshold=1.0, few=10, user="nobody") == []


@pytest.mark.dialect
async def test_the_running_threads_own_turns_take_no_place_from_those_of_other_threads(memories):
    own = [f"the zebra zebra number{n}" for n in range(50)]
    others = [f"once a zebra and much else was spoken of in town{n}" for n in range(5)]
    await memories.save("ann", turns("running", own), dedup=False)
    for n, text in enumerate(others):
        await memories.save("ann", turns(f"thread {n}", [text]), dedup=False)
    assert set(await found(memories, limit=5)) <= set(own)
    elsewhere = MemoryFilters(app_name="default", running_thread="running")
    assert sorted(await found(memories, limit=5, filters=elsewhere)) == others


@pytest.mark.dialect
async def test_the_running_threads_summary_is_left_out_and_its_facts_are_not(memories):
    await memories.save("ann", turns("running", ["They spoke of a zebra"], kind="conversation_summary"))
    await memories.save("ann", turns("other", ["They spoke of two zebra foals"], kind="conversation_summary"))
    await memories.save("ann", facts("Keeps a zebra", thread_id="running"))
    elsewhere = MemoryFilters(running_thread="running")
    assert set(await found(memories, filters=elsewhere)) == {"They spoke of two zebra foals", "Keeps a zebra"}
