"""A client that sends a tool's result again, or one of no call: the thread goes on with its next message, whatever the model refused."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from discreet.checkpoint import REDACT, CheckpointPolicy, RedactingSaver
from discreet.errors import TransientStateLostError

CALL = {"name": "look", "args": {}, "id": "h"}


class Provider:
    """Calls a tool of the client first, refuses what providers refuse, and is down when told so."""

    def __init__(self) -> None:
        self.down = False

    def __call__(self, state: MessagesState) -> Any:
        open_calls: set[str] = set()
        for message in state["messages"]:
            if isinstance(message, ToolMessage):
                assert message.tool_call_id in open_calls, "a result without its call"
                open_calls.discard(message.tool_call_id)
                continue
            assert not open_calls, "a call without its result"
            open_calls = {str(call["id"]) for call in getattr(message, "tool_calls", ())}
        assert not open_calls, "a call without its result"
        if self.down:
            self.down = False
            raise ConnectionError
        said = state["messages"][-1]
        calls = [CALL] if said.text == "where am I?" else []
        return {"messages": [AIMessage("let me look" if calls else "answer", tool_calls=calls)]}


def agent(saver: Any, provider: Provider) -> Any:
    return StateGraph(MessagesState).add_node("say", provider).add_edge(START, "say").compile(checkpointer=saver)


def result(call: str = "h") -> Any:
    return {"messages": [ToolMessage("Hanoi", tool_call_id=call)]}


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("way", ["retry", "twice in one", "twice by update", "of no call by update"])
async def test_the_next_message_is_answered(way: str, durability: Any) -> None:
    provider, thread = Provider(), {"configurable": {"thread_id": "1"}}
    graph = agent(RedactingSaver(InMemorySaver()), provider)
    await graph.ainvoke({"messages": [HumanMessage("where am I?")]}, thread, durability=durability)
    if way == "retry":
        provider.down = True
        with pytest.raises(ConnectionError):
            await graph.ainvoke(result(), thread, durability=durability)
        again = await graph.ainvoke(result(), thread, durability=durability)
        assert [each.type for each in again["messages"]] == ["human", "ai", "tool", "ai"]
    elif way == "twice in one":
        with suppress(AssertionError):  # the model may meet both, once
            await graph.ainvoke({"messages": result()["messages"] * 2}, thread, durability=durability)
    else:
        calls = ["h", "h"] if way == "twice by update" else ["h", "zz"]
        with suppress(AssertionError, TransientStateLostError):  # it is the next message that counts
            for call in calls:
                await graph.aupdate_state(thread, result(call))
            await graph.ainvoke(None, thread, durability=durability)
    for _ in range(2):
        said = await graph.ainvoke({"messages": [HumanMessage("go on")]}, thread, durability=durability)
        assert said["messages"][-1].text == "answer"


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_a_result_whose_turn_has_gone_on_is_refused(durability: Any) -> None:
    thread = {"configurable": {"thread_id": "1"}}
    graph = agent(RedactingSaver(InMemorySaver()), Provider())
    await graph.ainvoke({"messages": [HumanMessage("where am I?")]}, thread, durability=durability)
    await graph.ainvoke(result(), thread, durability=durability)
    with pytest.raises(TransientStateLostError):
        await graph.ainvoke(result(), thread, durability=durability)
    said = await graph.ainvoke({"messages": [HumanMessage("go on")]}, thread, durability=durability)
    assert [each.text for each in said["messages"]] == ["where am I?", "answer", "go on", "answer"]


async def test_a_thread_goes_on_under_a_policy_that_names_its_tool_no_longer(empty_database: str) -> None:
    thread = {"configurable": {"thread_id": "1"}}
    policies = [CheckpointPolicy(tools={"look": REDACT}), CheckpointPolicy(), CheckpointPolicy(tools={"other": REDACT})]
    for policy in policies:
        async with RedactingSaver.from_conn_string(empty_database, policy) as saver:
            await saver.setup()
            graph = agent(saver, Provider())
            if policy is policies[0]:
                await graph.ainvoke({"messages": [HumanMessage("where am I?")]}, thread)
                await graph.ainvoke({"messages": [ToolMessage("Hanoi", tool_call_id="h", name="look")]}, thread)
            said = await graph.ainvoke({"messages": [HumanMessage("go on")]}, thread)
            assert said["messages"][-1].text == "answer"
