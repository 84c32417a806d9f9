"""Branches from the end of an older turn hold what was said in that turn, whatever others have done to the thread since."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, MessagesState, StateGraph

from discreet.checkpoint import RedactingSaver

THREAD: dict[str, Any] = {"configurable": {"thread_id": "1"}}
CHANGES = {
    "one more message": [HumanMessage("more", id="v")],
    "an answer less": [RemoveMessage("a1")],
    "another answer": [AIMessage("changed", id="a1")],
    "another question": [HumanMessage("changed", id="u1")],
}


@pytest.fixture
async def graphs(database: str) -> AsyncIterator[dict[str, Any]]:
    """Yield one graph over our saver in two processes, and over LangGraph's own, in the same tables."""
    numbers = iter(range(1, 9))

    def answer(_: MessagesState) -> Any:
        number = next(numbers)
        return {"messages": [AIMessage(f"answer {number}", id=f"a{number}")]}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    async with AsyncExitStack() as stack:
        stock = await stack.enter_async_context(AsyncPostgresSaver.from_conn_string(database))
        await stock.setup()
        ours = [await stack.enter_async_context(RedactingSaver.from_conn_string(database)) for _ in range(2)]
        await ours[0].setup(guard=False)
        savers = {"here": ours[0], "there": ours[1], "stock": stock}
        yield {name: builder.compile(checkpointer=saver) for name, saver in savers.items()}


def say(text: str, message_id: str) -> Any:
    return {"messages": [HumanMessage(text, id=message_id)]}


async def texts(graph: Any) -> list[str]:
    return [message.text for message in (await graph.aget_state(THREAD)).values["messages"]]


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("other", ["here", "there", "stock"])
@pytest.mark.parametrize("change", CHANGES)
async def test_a_branch_has_the_turn_that_it_begins_with_though_an_update_came_after(graphs, change, other, durability):
    await graphs["here"].ainvoke(say("one", "u1"), THREAD, durability=durability)
    end = (await graphs["here"].aget_state(THREAD)).config
    await graphs[other].aupdate_state(THREAD, {"messages": CHANGES[change]}, as_node="answer")
    await graphs["here"].ainvoke(say("two", "u2"), end, durability=durability)
    assert await texts(graphs["there"]) == ["one", "answer 1", "two", "answer 2"]


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("first", ["here", "stock"])
@pytest.mark.parametrize("second", ["here", "there", "stock"])
@pytest.mark.parametrize("brancher", ["here", "there"])
async def test_a_branch_has_nothing_that_was_said_in_another(graphs, first, second, brancher):
    await graphs[first].ainvoke(say("one", "u1"), THREAD)
    end = (await graphs[first].aget_state(THREAD)).config
    await graphs[second].ainvoke({"messages": [HumanMessage("changed", id="u1"), HumanMessage("x", id="u3")]}, THREAD)
    await graphs[brancher].ainvoke(say("two", "u2"), end)
    assert await texts(graphs["there"]) == ["one", "answer 1", "two", "answer 3"]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_an_update_that_starts_a_node_leaves_the_answer_before_it_where_it_is(database, durability):
    builder = StateGraph(MessagesState)
    builder.add_node("first", lambda _: {})
    builder.add_node("second", lambda _: {"messages": [AIMessage("answer")]})
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    async with (
        RedactingSaver.from_conn_string(database) as here,
        RedactingSaver.from_conn_string(database) as there,
    ):
        graph = builder.compile(checkpointer=here)
        await graph.ainvoke(say("one", "u1"), THREAD, durability=durability)
        await graph.aupdate_state(THREAD, {"messages": [AIMessage("a note", id="n1")]}, as_node="first")
        assert (await texts(builder.compile(checkpointer=there)))[:2] == ["one", "answer"]
        await graph.ainvoke(None, THREAD, durability=durability)
        assert await texts(builder.compile(checkpointer=there)) == ["one", "answer", "a note", "answer"]


async def test_an_update_of_an_older_turn_has_its_answer(graphs):
    await graphs["here"].ainvoke(say("one", "u1"), THREAD)
    end = (await graphs["here"].aget_state(THREAD)).config
    await graphs["here"].ainvoke(say("two", "u2"), THREAD)
    await graphs["here"].aupdate_state(end, {"messages": [AIMessage("a note", id="n1")]}, as_node="__start__")
    assert (await texts(graphs["there"]))[:2] == ["one", "answer 1"]


@pytest.mark.slow
async def test_several_turns_within_one_node_of_another_graph_are_turns(graphs):
    """They share the run control of the graph around them."""

    async def talk(_: MessagesState) -> Any:
        for number in range(3):
            await graphs["here"].ainvoke(say(f"question {number}", f"u{number}"), THREAD)
        end = [state async for state in graphs["here"].aget_state_history(THREAD) if not state.next][1].config
        await graphs["here"].ainvoke(say("branch", "u8"), end)
        await graphs["here"].ainvoke(say("last", "u9"), THREAD)
        return {}

    around = StateGraph(MessagesState)
    around.add_node("talk", talk)
    around.add_edge(START, "talk")
    await around.compile().ainvoke(say("go", "g"))
    expected = ["question 0", "answer 1", "question 1", "answer 2", "branch", "answer 4", "last", "answer 5"]
    assert await texts(graphs["there"]) == expected
