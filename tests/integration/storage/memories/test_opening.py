"""What a turn needs before its model is asked comes at once: what was found, what was forgotten, the summary, the session."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from testkit.boundaries import at_statement

from discreet.ports import ForgetRequest, MemoryQuery, RollingSummary
from discreet.settings import Settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.testing import InMemoryMemories, InMemoryRollingSummaries, InMemoryShortTermStore, StubEmbeddings

FACTS = ["Keeps two parrots", "Lives in Bern", "Plays chess"]
ASKED = MemoryQuery(query="Which parrots?", limit=2, few=12)
SUMMARY = RollingSummary(text="About parrots", rounds=3, last_message_id="m")


@pytest.fixture(params=["postgres", "memory"])
async def storage(request):
    if request.param == "memory":
        yield SimpleNamespace(
            memories=InMemoryMemories(), short_term=InMemoryShortTermStore(), summaries=InMemoryRollingSummaries()
        )
        return
    settings, dsn = Settings(reembed=False), request.getfixturevalue("database")
    async with open_storage(dsn, embeddings=StubEmbeddings(dims=64), settings=settings) as opened:
        yield opened


def texts(found):
    return [(hit.record.text, hit.score) for hit in found]


@pytest.mark.dialect
async def test_all_of_it_is_what_each_part_says_by_itself(storage):
    memories = storage.memories
    await memories.save("ann", [MemoryRecord(text=text) for text in FACTS])
    await memories.forget("ann", "boats", asking=ForgetRequest(thread_id="t", request_id="r", rounds={"q": "boats"}))
    await storage.summaries.commit("ann", "t", expected=RollingSummary(), new=SUMMARY)
    assert memories.opens_with(storage.short_term, storage.summaries)
    opened = await memories.open_turn("ann", "t", ASKED, short_term=storage.short_term, summaries=storage.summaries)
    assert texts(opened.found) == texts(await memories.search("ann", ASKED.query, limit=2, few=12))
    assert opened.found[0].record.text == FACTS[0]
    assert opened.forgotten == await memories.forgotten("ann", "t") == {"r", "q"}
    assert opened.summary == SUMMARY
    assert await storage.short_term.session_state("ann", "t") == "ACTIVE"
    if hasattr(memories, "begin"):
        assert opened.began == await memories.begin("ann", "t")


@pytest.mark.dialect
async def test_who_is_new_has_nothing_and_gets_a_session(storage):
    opened = await storage.memories.open_turn(
        "bob", "t", ASKED, short_term=storage.short_term, summaries=storage.summaries
    )
    assert (list(opened.found), opened.forgotten, opened.summary) == ([], frozenset(), RollingSummary())
    assert await storage.short_term.session_state("bob", "t") == "ACTIVE"


@pytest.mark.dialect
@pytest.mark.parametrize("asked", [None, MemoryQuery(query=" "), ASKED])
async def test_what_is_not_asked_for_is_left_out(storage, asked):
    await storage.memories.save("ann", [MemoryRecord(text=text) for text in FACTS])
    opened = await storage.memories.open_turn("ann", None, asked)
    assert bool(opened.found) == (asked is ASKED)
    assert opened.summary is None
    assert (await storage.memories.open_turn("ann", "t", summaries=storage.summaries)).summary == RollingSummary()
    assert await storage.short_term.session_state("ann", "t") is None


async def test_it_is_one_statement_whatever_words_are_asked_for(database):
    settings = Settings(reembed=False)
    async with open_storage(database, embeddings=StubEmbeddings(dims=64), settings=settings) as storage:
        memories, others = storage.memories, {"short_term": storage.short_term, "summaries": storage.summaries}
        await memories.save("ann", [MemoryRecord(text=text) for text in FACTS])
        await memories.search("ann", "parrots")  # how often words occur is read once
        with at_statement(100, storage.memories.close) as sent:
            await memories.open_turn("ann", "t", MemoryQuery(query="Words that nobody has said before"), **others)
        assert sent.passed == 1


async def test_stores_elsewhere_are_asked_by_themselves(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=64), settings=Settings(reembed=False)) as storage:
        assert storage.memories.opens_with(storage.short_term)
        assert not storage.memories.opens_with(InMemoryShortTermStore())
        assert not storage.memories.opens_with(storage.summaries, InMemoryRollingSummaries())
    assert not InMemoryMemories().opens_with(storage.short_term)
