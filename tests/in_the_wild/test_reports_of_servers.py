"""What people reported of LangGraph behind servers and queues, played on the stock savers and on ours."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from testkit.savers import database_of, opened_saver

from discreet.checkpoint import RedactingSaver
from discreet.testing import ScriptedChatModel

KINDS = ["memory", "redacting", "postgres", "redacting_postgres"]
THREAD: dict[str, Any] = {"configurable": {"thread_id": "1"}}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def savers(kind: str, request: pytest.FixtureRequest) -> Any:
    """Return what opens a saver as another process does: over the same rows, with nothing of the first one's memory."""
    database, rows = database_of(kind, request), InMemorySaver()

    def process() -> Any:
        if kind in {"memory", "redacting"}:
            return _in_ram(RedactingSaver(rows) if kind == "redacting" else rows)
        return opened_saver(kind, database)

    return process


class _in_ram:
    def __init__(self, saver: BaseCheckpointSaver[Any]) -> None:
        self.saver = saver

    async def __aenter__(self) -> BaseCheckpointSaver[Any]:
        return self.saver

    async def __aexit__(self, *_: object) -> None:
        """Nothing is open."""


def chat(saver: Any, *answers: Any) -> Any:
    model = ScriptedChatModel(responses=list(answers))

    async def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", node)
    builder.add_edge(START, "model")
    return builder.compile(checkpointer=saver)


def said(text: str, id_: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text, id=id_)]}


def texts(values: Any) -> list[str]:
    return [message.text for message in values["messages"]]


async def test_a_queue_that_repeats_a_finished_run_under_its_run_id_adds_nothing(savers):
    """https://github.com/langchain-ai/docs/issues/4070: a worker of Temporal was killed, and the same run came again."""
    run = {**THREAD, "metadata": {"run_id": str(uuid4())}}
    async with savers() as saver:
        await chat(saver, AIMessage("Fine.")).ainvoke({"messages": [("user", "How are you?")]}, run)
    async with savers() as saver:
        graph = chat(saver)
        await graph.ainvoke({"messages": [("user", "How are you?")]}, run)
        assert texts((await graph.aget_state(THREAD)).values) == ["How are you?", "Fine."]


async def test_what_somebody_said_is_stored_before_the_first_node_runs(savers):
    """https://github.com/langchain-ai/langgraph/issues/8764: with "sync" an accepted message is not lost by a kill."""
    seen: list[Any] = []

    async def look(state: MessagesState) -> None:
        async with savers() as other:
            found = await other.aget_tuple(THREAD)
            seen.append(found and found.checkpoint["channel_values"])
        raise OSError("killed")

    async with savers() as saver:
        builder = StateGraph(MessagesState)
        builder.add_node("look", look)
        builder.add_edge(START, "look")
        with pytest.raises(OSError, match="killed"):
            await builder.compile(checkpointer=saver).ainvoke(said("Hello", "m1"), THREAD, durability="sync")
    assert "Hello" in str(seen)


async def test_a_run_that_is_stopped_keeps_what_was_there_and_the_next_goes_on(savers):
    """https://github.com/langchain-ai/langgraph/issues/5672: "stop" while the model streams."""
    async with savers() as saver:
        await chat(saver, AIMessage("One.")).ainvoke(said("First", "m1"), THREAD)
        started = asyncio.Event()

        async def slow(state: MessagesState) -> None:
            started.set()
            await asyncio.sleep(60)

        builder = StateGraph(MessagesState)
        builder.add_node("model", slow)
        builder.add_edge(START, "model")
        run = asyncio.create_task(builder.compile(checkpointer=saver).ainvoke(said("Second", "m2"), THREAD))
        await started.wait()
        run.cancel()
        with suppress(asyncio.CancelledError):
            await run
    async with savers() as saver:
        after = await chat(saver, AIMessage("Three.")).ainvoke(said("Third", "m3"), THREAD)
    assert texts(after) == ["First", "One.", "Second", "Third", "Three."]


async def test_the_checkpoint_before_a_message_is_found_by_its_id_and_regenerated_from(savers):
    """https://github.com/ag-ui-protocol/ag-ui/issues/706, https://github.com/CopilotKit/CopilotKit/issues/2402.

    The adapter walks the history from its beginning, takes the checkpoint before the first that has the message, forks it and
    sends the message again: "Message ID not found in history".
    """
    async with savers() as saver:
        graph = chat(saver, AIMessage("One."), AIMessage("Two."))
        await graph.ainvoke(said("First", "m1"), THREAD)
        await graph.ainvoke(said("Second", "m2"), THREAD)
    async with savers() as saver:
        graph = chat(saver, AIMessage("Two, again."))
        history = [state async for state in graph.aget_state_history(THREAD)][::-1]
        first = next(
            number
            for number, state in enumerate(history)
            if "m2" in [message.id for message in state.values.get("messages", [])]
        )
        before = history[first - 1]
        assert texts(before.values) == ["First", "One."]
        fork = await graph.aupdate_state(before.config, before.values, as_node=before.next[0] if before.next else None)
        values = await graph.ainvoke(said("Second", "m2"), fork)
        assert texts(values) == ["First", "One.", "Second", "Two, again."]


async def test_a_state_is_updated_after_a_subgraph_was_resumed(savers):
    """https://github.com/langchain-ai/langgraph/issues/4523 and 4748: the parent is updated between a pause within and its answer."""

    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [HumanMessage(str(interrupt("What is wrong?")), id="m2")]}

    inner = StateGraph(MessagesState)
    inner.add_node("ask", ask)
    inner.add_edge(START, "ask")
    async with savers() as saver:
        outer = StateGraph(MessagesState)
        outer.add_node("inner", inner.compile())
        outer.add_node("close", lambda state: {"messages": [AIMessage("Noted.", id="a2")]})
        outer.add_edge(START, "inner")
        outer.add_edge("inner", "close")
        graph = outer.compile(checkpointer=saver)
        await graph.ainvoke(said("Help", "m1"), THREAD)
        values = await graph.ainvoke(Command(resume="The tap"), THREAD)
        assert texts(values) == ["Help", "The tap", "Noted."]
        await graph.aupdate_state(THREAD, {"messages": [AIMessage("Closed by hand.", id="a3")]}, as_node="close")
        state = await graph.aget_state(THREAD)
        assert texts(state.values) == ["Help", "The tap", "Noted.", "Closed by hand."]
        assert state.next == ()


@pytest.mark.parametrize("size", [20_000, 90_000])
async def test_a_long_conversation_is_whole_after_a_person_was_asked(savers, size):
    """https://github.com/langchain-ai/langgraph/issues/6632: with much in the state, the messages before were gone."""

    @tool
    def buy(thing: str) -> str:
        """Buy something."""
        return str(interrupt("May I?"))

    long = "word " * (size // 5)
    call = AIMessage("", tool_calls=[{"name": "buy", "args": {"thing": "tea"}, "id": "c1"}], id="a2")
    async with savers() as saver:
        model = ScriptedChatModel(responses=[AIMessage(long, id="a1"), call, AIMessage("Bought.", id="a3")])
        agent = create_agent(model, [buy], checkpointer=saver)
        await agent.ainvoke(said(long, "m1"), THREAD)
        await agent.ainvoke(said("Buy tea", "m2"), THREAD)
        state = await agent.aget_state(THREAD)
        assert [message.id for message in state.values["messages"]] == ["m1", "a1", "m2", "a2"]
        assert len(texts(state.values)[0]) == len(long)
        done = await agent.ainvoke(Command(resume="yes"), THREAD)
    assert [len(each) for each in texts(done)[:3]] == [len(long), len(long), 7]
    assert texts(done)[-1] == "Bought."


async def test_a_client_that_sends_an_empty_turn_to_a_pause_asks_again_as_stock_does(savers):
    """https://github.com/CopilotKit/CopilotKit/issues/1590: an extra turn without a message after an interrupt."""
    asked: list[str] = []

    def ask(state: MessagesState) -> dict[str, Any]:
        asked.append("asked")
        return {"messages": [AIMessage(f"You said {interrupt('Yes or no?')}.")]}

    async with savers() as saver:
        builder = StateGraph(MessagesState)
        builder.add_node("ask", ask)
        builder.add_edge(START, "ask")
        graph = builder.compile(checkpointer=saver)
        await graph.ainvoke(said("Go", "m1"), THREAD)
        again = await graph.ainvoke({"messages": []}, THREAD)
        assert [each.value for each in again["__interrupt__"]] == ["Yes or no?"]
        assert texts(await graph.ainvoke(Command(resume="yes"), THREAD)) == ["Go", "You said yes."]
