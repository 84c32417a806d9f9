"""Graphs of other people run by `invoke` and by `ainvoke`, in threads and on loops, over one storage."""

from __future__ import annotations

import asyncio
import threading
from typing import Annotated, TypedDict

import psycopg
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

from discreet.background_loop import wait_for
from discreet.errors import ConfigurationError, InvalidUserError, StorageUnavailableError
from discreet.nodes.persist_filtered import make_persist_filtered
from discreet.nodes.retrieve_memories import make_retrieve_memories
from discreet.ports import RollingSummary, Started, Work
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage, open_storage_sync
from discreet.storage.memories.memories import PostgresMemories
from discreet.storage.shared import SharedStorage
from discreet.testing import StubEmbeddings

EMBEDDINGS = StubEmbeddings(dims=64)
FACT = MemoryRecord(text="Ann keeps two parrots")
CONFIG = {"configurable": {"user_id": "ann", "thread_id": "1"}}


class Foreign(TypedDict, total=False):
    messages: Annotated[list, add_messages]
    known: list
    mood: str


def graph_over(storage):
    """Return a graph of two of our nodes around one of somebody else's, compiled."""

    def answer(state):
        return {"messages": [AIMessage("You keep " + state["known"][0]["text"].removeprefix("Ann keeps "))]}

    builder = StateGraph(Foreign)
    retrieve = make_retrieve_memories(memories=storage.memories, memories_key="known", timeout=30.0)
    builder.add_node("retrieve", retrieve)
    builder.add_node("answer", answer)
    builder.add_node("persist", make_persist_filtered(log=storage.log, memories_key="known"))
    for before, after in ((START, "retrieve"), ("retrieve", "answer"), ("answer", "persist"), ("persist", END)):
        builder.add_edge(before, after)
    return builder.compile()


def asked():
    return {"messages": [HumanMessage("Which parrots do I keep?")], "mood": "curious"}


def answered(state):
    return (state["messages"][-1].content, state["mood"]) == ("You keep two parrots", "curious")


def logged(dsn):
    with psycopg.connect(dsn) as connection:
        return connection.execute("SELECT output_text FROM discreet.conversation_log").fetchall()


def test_invoke_from_a_program_without_a_loop(database):
    with open_storage_sync(database, embeddings=EMBEDDINGS) as storage:
        wait_for(storage.memories.save("ann", [FACT]))
        graph = graph_over(storage)
        assert answered(graph.invoke(asked(), CONFIG))
        found = []
        thread = threading.Thread(target=lambda: found.append(graph.invoke(asked(), CONFIG)))
        thread.start()
        thread.join()
        assert answered(found[0])
        assert answered(asyncio.run(graph.ainvoke(asked(), CONFIG)))
    assert logged(database) == [("You keep two parrots",)] * 3


async def test_invoke_in_a_thread_while_the_storage_belongs_to_the_running_loop(database):
    async with open_storage(database, embeddings=EMBEDDINGS) as storage:
        await storage.memories.save("ann", [FACT])
        graph = graph_over(storage)
        assert answered(await asyncio.to_thread(graph.invoke, asked(), CONFIG))
        assert answered(await graph.ainvoke(asked(), CONFIG))
        at_once = await asyncio.gather(*(asyncio.to_thread(graph.invoke, asked(), CONFIG) for _ in range(4)))
        assert all(map(answered, at_once))
    assert logged(database) == [("You keep two parrots",)] * 6


async def test_every_part_can_be_used_from_another_loop(database):
    async def use(storage):
        [saved] = await storage.memories.save("ann", [FACT])
        assert await storage.memories.get("ann", saved.entry_id) == saved
        assert isinstance(await storage.short_term.claim(Work(kind="audio", user_id="ann", ref="1"), lease=9), Started)
        new = RollingSummary(text="text", rounds=5)
        assert await storage.summaries.commit("ann", "1", expected=RollingSummary(), new=new)
        with pytest.raises(InvalidUserError):
            await storage.memories.search(" ", "parrots")

    async with open_storage(database, embeddings=EMBEDDINGS) as storage:
        await asyncio.to_thread(lambda: asyncio.run(use(storage)))
        assert isinstance(storage.memories, PostgresMemories)


def test_the_storage_is_closed_at_the_end_also_after_an_error(database):
    with pytest.raises(KeyError), open_storage_sync(database, embeddings=EMBEDDINGS) as storage:
        raise KeyError
    with pytest.raises(StorageUnavailableError):
        wait_for(storage.memories.save("ann", [FACT]))


def test_a_storage_that_cannot_be_opened_says_so():
    with (
        pytest.raises(StorageUnavailableError),
        open_storage_sync("postgresql://127.0.0.1:1/none", embeddings=EMBEDDINGS),
    ):
        pass
    with pytest.raises(ConfigurationError), open_storage_sync("no DSN at all", embeddings=EMBEDDINGS):
        pass


@pytest.mark.dialect
async def test_a_shared_storage_serves_blocking_callers_too(database):
    shared = SharedStorage(lambda: open_storage(database, embeddings=EMBEDDINGS))
    graph = graph_over(shared)
    async with shared.lease():
        await shared.memories.save("ann", [FACT])
        assert answered(await asyncio.to_thread(graph.invoke, asked(), CONFIG))
        assert await shared.summaries.get("ann", "1") == RollingSummary()
        assert await shared.short_term.session_state("ann", "1") is None
    with pytest.raises(StorageUnavailableError, match=r"langgraph\.json"):
        await shared.short_term.touch("ann", "1")
