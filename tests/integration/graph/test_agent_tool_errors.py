"""Errors of tools in an agent of `create_agent` under our saver: those of the memory tools are told, those of its own tools pass."""

import asyncio
import json

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from discreet.checkpoint import RedactingSaver
from discreet.errors import StorageUnavailableError
from discreet.graph.middleware import MemoryMiddleware
from discreet.testing import InMemoryMemories, ScriptedChatModel

SAID = "I keep two parrots"


class Down(InMemoryMemories):
    async def save(self, *args, **options):
        raise StorageUnavailableError


@tool
def broken() -> str:
    """Fail."""
    raise OSError("disk")


@pytest.fixture(params=["async", "blocking"])
def ask(request):
    def ask(call, user="ann"):
        model = ScriptedChatModel(responses=[AIMessage("", tool_calls=[{**call, "id": "c1"}]), AIMessage("Sorry.")])
        middleware = MemoryMiddleware(memories=Down(), memory_tools=["save_memory"])
        agent = create_agent(model, [broken], middleware=[middleware], checkpointer=RedactingSaver(InMemorySaver()))
        given, config = {"messages": [("user", SAID)]}, {"configurable": {"thread_id": "1", "user_id": user}}
        is_async = request.param == "async"
        state = asyncio.run(agent.ainvoke(given, config)) if is_async else agent.invoke(given, config)
        return [message.text for message in state["messages"][-2:]]

    return ask


@pytest.mark.parametrize(("user", "code"), [(None, "tool_failed"), ("ann", "storage_unavailable")])
def test_a_memory_tool_that_fails_costs_a_memory_and_no_turn(ask, user, code):
    told, answer = ask({"name": "save_memory", "args": {"text": SAID}}, user)
    assert json.loads(told)["error"]["code"] == code
    assert answer == "Sorry."


def test_an_error_of_the_agents_own_tool_passes(ask):
    with pytest.raises(OSError, match="disk"):
        ask({"name": "broken", "args": {}})
