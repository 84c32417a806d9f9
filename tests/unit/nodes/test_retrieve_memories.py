import asyncio
from typing import Annotated, TypedDict

import pytest
from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.graph.message import add_messages

from discreet.errors import StorageUnavailableError
from discreet.metrics import retrieve_failures
from discreet.nodes.retrieve_memories import make_retrieve_memories
from discreet.ports import FixedSettings
from discreet.state.memory_settings import MemorySettings
from discreet.state.records import MemoryRecord
from discreet.testing import InMemoryMemories

FAR = FixedSettings(MemorySettings(memory_retrieve_threshold=1.0))
ASK = {"messages": [HumanMessage("Which parrots do I keep?")]}


@pytest.fixture
async def memories():
    memories = InMemoryMemories()
    await memories.save("ann", [MemoryRecord(text="Ann keeps two parrots", app_name="default")])
    await memories.save("bob", [MemoryRecord(text="Bob keeps twelve parrots")])
    return memories


class Failing(InMemoryMemories):
    async def search(self, *_args, **_kwargs):
        raise StorageUnavailableError


class Slow(InMemoryMemories):
    async def search(self, *_args, **_kwargs):
        await asyncio.sleep(60)


def failures(cause):
    return retrieve_failures.labels(cause)._value.get()


async def test_memories_of_the_user_arrive_as_plain_json(run_node, memories):
    state = await run_node(make_retrieve_memories(memories=memories), ASK, user_id="ann")
    (found,) = state["memories"]
    assert found["text"] == "Ann keeps two parrots"
    assert found.keys() == {"entry_id", "text", "type", "created_at", "relevance"}
    assert 0 <= found["relevance"] <= 1


async def test_memories_of_another_application_are_not_seen(run_node, memories):
    state = await run_node(make_retrieve_memories(memories=memories), ASK, user_id="ann", app_name="other")
    assert state["memories"] == []


async def test_without_a_user_nothing_is_searched(run_node):
    assert (await run_node(make_retrieve_memories(memories=Failing()), ASK))["memories"] == []


async def test_a_default_user_stands_in(run_node, memories):
    state = await run_node(make_retrieve_memories(memories=memories, default_user="bob"), ASK)
    assert [m["text"] for m in state["memories"]] == ["Bob keeps twelve parrots"]


@pytest.mark.parametrize(("memories", "cause"), [(Failing(), "StorageUnavailableError"), (Slow(), "TimeoutError")])
async def test_a_failing_or_slow_store_costs_the_memories_and_not_the_turn(run_node, memories, cause, caplog):
    before = failures(cause)
    state = await run_node(make_retrieve_memories(memories=memories, timeout=0.05), ASK, user_id="ann")
    assert state["memories"] == []
    assert failures(cause) == before + 1
    assert f"cause={cause}" in caplog.text
    assert "parrots" not in caplog.text


async def test_the_context_overrides_limit_and_threshold(run_node, memories):
    asked = {}

    class Recording(InMemoryMemories):
        async def search(self, user_id, query, **options):
            asked.update(options)
            return []

    node = make_retrieve_memories(memories=Recording())
    await run_node(node, ASK, user_id="ann", retrieve_limit=2, retrieve_threshold=0.0)
    assert (asked["limit"], asked["threshold"]) == (2, 0.0)


FAR_FACTS = [f"Owns thing{n} from shop{n * n}" for n in range(10)]


async def test_a_person_of_few_facts_is_told_all_of_them(run_node, memories):
    await memories.save("ann", [MemoryRecord(text=text) for text in FAR_FACTS], dedup=False)
    state = await run_node(make_retrieve_memories(memories=memories, memory_settings=FAR), ASK, user_id="ann")
    texts = [each["text"] for each in state["memories"]]
    assert (texts[0], sorted(texts[1:])) == ("Ann keeps two parrots", FAR_FACTS)


async def test_of_more_facts_than_a_few_the_nearest_are_told(run_node, memories):
    await memories.save(
        "ann", [MemoryRecord(text=f"{text} again{n}") for text in FAR_FACTS for n in (1, 2)], dedup=False
    )
    state = await run_node(make_retrieve_memories(memories=memories, memory_settings=FAR), ASK, user_id="ann")
    assert [each["text"] for each in state["memories"]] == ["Ann keeps two parrots"]


@pytest.mark.parametrize(("argument", "context"), [({"limit": 2}, {}), ({}, {"retrieve_limit": 2})])
async def test_a_limit_that_somebody_asks_for_holds_for_few_facts_too(run_node, memories, argument, context):
    await memories.save("ann", [MemoryRecord(text=f"{text} parrots") for text in FAR_FACTS], dedup=False)
    state = await run_node(make_retrieve_memories(memories=memories, **argument), ASK, user_id="ann", **context)
    assert len(state["memories"]) == 2


@pytest.mark.parametrize(("argument", "context"), [({"threshold": 1.0}, {}), ({}, {"retrieve_threshold": 1.0})])
async def test_so_does_a_threshold(run_node, memories, argument, context):
    await memories.save("ann", [MemoryRecord(text=text) for text in FAR_FACTS], dedup=False)
    state = await run_node(make_retrieve_memories(memories=memories, **argument), ASK, user_id="ann", **context)
    assert [each["text"] for each in state["memories"]] == ["Ann keeps two parrots"]


async def test_turns_of_the_running_thread_take_no_place_from_others(run_node, memories):
    def turns(thread, count):
        return [
            MemoryRecord(text=f"{thread} parrots keep {n}", type="turn", thread_id=thread, position=n)
            for n in range(count)
        ]

    await memories.save("ann", [*turns("thread-1", 50), *turns("thread-2", 3)])
    state = await run_node(make_retrieve_memories(memories=memories), ASK, user_id="ann")
    told = [each["text"].split()[0] for each in state["memories"]]
    assert sorted(told) == ["Ann", "thread-2", "thread-2", "thread-2"]


async def test_it_serves_a_graph_with_keys_of_its_own(run_node, memories):
    class Theirs(TypedDict):
        chat: Annotated[list[AnyMessage], add_messages]
        known: list

    node = make_retrieve_memories(memories=memories, messages_key="chat", memories_key="known")
    state = await run_node(node, {"chat": ASK["messages"]}, schema=Theirs, user_id="ann")
    assert [m["text"] for m in state["known"]] == ["Ann keeps two parrots"]
