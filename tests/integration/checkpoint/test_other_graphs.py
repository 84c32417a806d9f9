"""Graphs of other shapes than the template's: the functional API, parallel sends, joins, commands."""

import asyncio
import operator
from typing import Annotated

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt

from discreet.checkpoint import RedactingSaver
from discreet.state.conversation import InputState

THREAD = {"configurable": {"thread_id": "1"}}
HELLO = {"messages": [("user", "hello")]}


class LoggedState(InputState):
    log: Annotated[list[str], operator.add]


@pytest.fixture(params=["sync", "async", "exit"])
def durability(request):
    return {"durability": request.param}


@pytest.fixture
def inner():
    return InMemorySaver()


@pytest.fixture
def saver(inner):
    return RedactingSaver(inner)


def stored(inner):
    """Everything in the rows, as text."""
    values = [*inner.blobs.values(), *(value for rows in inner.writes.values() for _, _, value, _ in rows.values())]
    for spaces in inner.storage.values():
        for rows in spaces.values():
            values += [value for checkpoint, metadata, _ in rows.values() for value in (checkpoint, metadata)]
    return "".join(repr(inner.serde.loads_typed(value)) for value in values if value[0] != "empty")


async def test_the_functional_api_resumes_without_repeating_a_task(saver, inner, durability):
    runs = []

    @task
    async def look_up(text):
        runs.append(text)
        return "raw result"

    @entrypoint(checkpointer=saver)
    async def flow(question):
        return await look_up(question["text"]) + interrupt("raw question")

    assert "__interrupt__" in await flow.ainvoke({"text": "raw input"}, THREAD, **durability)
    assert await flow.ainvoke(Command(resume=" raw answer"), THREAD, **durability) == "raw result raw answer"
    assert runs == ["raw input"]
    assert "raw" not in stored(inner)


async def test_of_parallel_sends_only_the_one_that_failed_runs_again(saver, inner, durability):
    runs = []

    async def work(packet):
        runs.append(packet["number"])
        if packet["number"] == 1 and runs.count(1) == 1:
            await asyncio.sleep(0.3)  # LangGraph cancels what still runs when one fails; the others shall be through
            raise LookupError("raw")
        return {"log": [f"raw {packet['number']}"]}

    builder = StateGraph(LoggedState)
    builder.add_node("work", work)
    builder.add_node("answer", lambda state: {"messages": [AIMessage(f"{len(state['log'])} done")]})
    builder.add_conditional_edges(
        START, lambda _: [Send("work", {"number": number, "note": "raw"}) for number in range(3)], ["work"]
    )
    builder.add_edge("work", "answer")
    graph = builder.compile(checkpointer=saver)
    with pytest.raises(LookupError):
        await graph.ainvoke(HELLO, THREAD, **durability)
    result = await graph.ainvoke(None, THREAD, **durability)
    assert result["messages"][-1].text == "3 done"
    assert sorted(runs) == [0, 1, 1, 2]
    assert "raw" not in stored(inner)


async def test_joins_deferred_nodes_and_commands_run_once_a_turn(saver, inner, durability):
    def note(name):
        return lambda _: {"log": [f"raw {name}"]}

    def ask(_):
        return {"messages": [AIMessage("thanks")], "log": [interrupt("raw")]}

    builder = StateGraph(LoggedState)
    for name in ("left", "right", "both"):
        builder.add_node(name, note(name))
    builder.add_node("late", note("late"), defer=True)
    builder.add_node("jump", lambda _: Command(goto="ask", update={"log": ["raw jump"]}), destinations=("ask",))
    builder.add_node("ask", ask)
    builder.add_edge(START, "left")
    builder.add_edge(START, "right")
    builder.add_edge(["left", "right"], "both")
    builder.add_edge("both", "late")
    builder.add_edge("late", "jump")
    builder.add_edge("ask", END)
    graph = builder.compile(checkpointer=saver)
    for _ in range(2):
        await graph.ainvoke(HELLO, THREAD, **durability)
        result = await graph.ainvoke(Command(resume="raw"), THREAD, **durability)
        assert sorted(result["log"]) == ["raw", "raw both", "raw jump", "raw late", "raw left", "raw right"]
    assert "raw" not in stored(inner)
