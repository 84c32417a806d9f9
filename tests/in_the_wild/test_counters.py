"""What limits and swarms count and name from turn to turn, without a policy: as over LangGraph's own saver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware, ToolCallLimitMiddleware
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_swarm import create_handoff_tool, create_swarm

from discreet.checkpoint import CheckpointPolicy, RedactingSaver
from discreet.testing import ScriptedChatModel

CHANNELS = ("thread_model_call_count", "thread_tool_call_count", "active_agent")
THREAD: dict[str, Any] = {"configurable": {"thread_id": "1"}}


@tool
def look_up(query: str) -> str:
    """Look something up."""
    return f"result of {query}"


def call(name: str, number: int, **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"call_{number}"}])


def limited_models() -> Any:
    model = ScriptedChatModel(responses=[AIMessage(f"answer {number}") for number in range(9)])
    return lambda saver: create_agent(
        model, [], checkpointer=saver, middleware=[ModelCallLimitMiddleware(thread_limit=2)]
    )


def limited_tools() -> Any:
    said = [each for number in range(9) for each in (call("look_up", number, query="x"), AIMessage(f"answer {number}"))]
    model = ScriptedChatModel(responses=said)
    limit = ToolCallLimitMiddleware(tool_name="look_up", thread_limit=2)
    return lambda saver: create_agent(model, [look_up], checkpointer=saver, middleware=[limit])


def swarm() -> Any:
    hand_over = create_handoff_tool(agent_name="Bob")
    alice = ScriptedChatModel(responses=[call(hand_over.name, 1), *[AIMessage("Alice here.")] * 9])
    bob = ScriptedChatModel(responses=[AIMessage("Bob here.")] * 9)
    agents = [create_agent(alice, [hand_over], name="Alice"), create_agent(bob, [], name="Bob")]
    return lambda saver: create_swarm(agents, default_active_agent="Alice").compile(checkpointer=saver)


async def play(build: Callable[[Any], Any], saver: Callable[[], Any], durability: Any) -> tuple[list[str], Any]:
    """Have four turns, each in a process of its own; return what was answered, and what is left in the end."""
    answers = []
    for number in range(4):
        out = await build(saver()).ainvoke(
            {"messages": [HumanMessage(f"turn {number}")]}, THREAD, durability=durability
        )
        answers.append(str(out["messages"][-1].text))
    values = (await build(saver()).aget_state(THREAD)).values
    return answers, {channel: values[channel] for channel in CHANNELS if channel in values}


@pytest.mark.parametrize("make", [limited_models, limited_tools, swarm])
async def test_counts_and_the_active_agent_outlive_a_turn(make, durability):
    one, inner = InMemorySaver(), InMemorySaver()
    expected = await play(make(), lambda: one, durability)
    assert await play(make(), lambda: RedactingSaver(inner), durability) == expected


async def test_a_name_that_is_somebodys_words_is_not_kept(durability):
    hand_over = "ann@example.com"
    agents = [create_agent(ScriptedChatModel(responses=[AIMessage("Hello.")]), [], name=hand_over)]
    inner = InMemorySaver()
    graph = create_swarm(agents, default_active_agent=hand_over).compile(checkpointer=RedactingSaver(inner))
    await graph.ainvoke({"messages": [HumanMessage("hi")]}, THREAD, durability=durability)
    assert "active_agent" not in (inner.get(THREAD) or {})["channel_values"]


async def test_a_policy_may_leave_them_out(durability):
    inner = InMemorySaver()
    policy = CheckpointPolicy(counters=False)
    _, kept = await play(limited_models(), lambda: RedactingSaver(inner, policy=policy), durability)
    assert kept == {}
