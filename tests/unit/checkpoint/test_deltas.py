"""A delta channel's value is its history of writes: what is stored of it is the value."""

from typing import Annotated

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Overwrite
from typing_extensions import TypedDict

from discreet.checkpoint import REDACT, CheckpointPolicy, RedactingSaver
from discreet.errors import CheckpointError

THREAD = {"configurable": {"thread_id": "1"}}


def extend(value, writes):
    return [*value, *(item for write in writes for item in write)]


LOG = DeltaChannel(extend, list, snapshot_frequency=3)
POLICY = CheckpointPolicy(deltas={"log": LOG, "messages": LOG}, channels={"log": REDACT})


CALL = {"name": "look_up", "args": {}, "id": "1"}


class State(TypedDict):
    messages: Annotated[list, LOG]
    log: Annotated[list, LOG]


def graph_over(inner, policy=POLICY, **options):
    def first(state):
        return {
            "log": [f"first {len(state['log'])} anna@example.com"],
            "messages": [AIMessage("raw plan", tool_calls=[CALL])],
        }

    def last(state):
        if state["messages"][0].text == "raise" and len(state["messages"]) == 2:
            raise LookupError
        return {"log": ["last"], "messages": [AIMessage("answer")]}

    builder = StateGraph(State)
    builder.add_node("first", first)
    builder.add_node("last", last)
    builder.add_edge(START, "first")
    builder.add_edge("first", "last")
    return builder.compile(checkpointer=RedactingSaver(inner, policy=policy, **options))


def say(text):
    return {"messages": [HumanMessage(text)]}


def said(state):
    return [message.text for message in state["messages"]]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_every_turn_goes_on_in_a_process_of_its_own(durability):
    inner = InMemorySaver()
    for turn in range(5):
        result = await graph_over(inner).ainvoke(say(f"hi {turn}"), THREAD, durability=durability)
        assert said(result)[-3:] == [f"hi {turn}", "raw plan", "answer"]
    state = (await graph_over(inner).aget_state(THREAD)).values
    assert said(state) == [text for turn in range(5) for text in (f"hi {turn}", "answer")]
    assert len(state["log"]) == 10
    assert any("anna@example.com" in entry for entry in state["log"])
    stored = (await graph_over(inner, restore=False).aget_state(THREAD)).values
    assert not any("anna@example.com" in entry for entry in stored["log"])


async def test_a_failed_turn_goes_on_in_the_same_process():
    graph = graph_over(InMemorySaver())
    with pytest.raises(LookupError):
        await graph.ainvoke(say("raise"), THREAD)
    assert said((await graph.aget_state(THREAD)).values) == ["raise", "raw plan"]


async def test_an_overwrite_starts_anew():
    inner = InMemorySaver()
    graph = graph_over(inner)
    await graph.ainvoke(say("hi"), THREAD)
    await graph.aupdate_state(THREAD, {"log": Overwrite(["only"])})
    assert (await graph_over(inner).aget_state(THREAD)).values["log"] == ["only"]


async def test_an_undeclared_delta_channel_is_refused_rather_than_lost():
    with pytest.raises(CheckpointError, match=r"log.*deltas="):
        await graph_over(InMemorySaver(), CheckpointPolicy()).ainvoke(say("hi"), THREAD)
