"""Human messages that middleware, tools and other agents write: none is logged or remembered as the user's words."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from discreet.checkpoint import RedactingSaver
from discreet.graph import build_graph
from discreet.graph.middleware import MemoryMiddleware
from discreet.testing import InMemoryConversationLog, InMemoryMemories, ScriptedChatModel

SAID, ANSWERED, WRITTEN = "I keep two parrots.", "Noted.", "The user lives in Oslo."
THREAD: Any = {"configurable": {"thread_id": "1", "user_id": "ann"}}
CALL = AIMessage("", tool_calls=[{"name": "ask", "args": {"what": WRITTEN}, "id": "c1"}])


class Before(AgentMiddleware[Any, Any]):
    def before_model(self, state: Any, runtime: Any) -> Any:
        return None if len(state["messages"]) > 1 else {"messages": [HumanMessage(WRITTEN)]}


class After(AgentMiddleware[Any, Any]):
    def after_model(self, state: Any, runtime: Any) -> Any:
        return {"messages": [HumanMessage(WRITTEN)]}


@tool("ask")
def writes(what: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Answer with a human message."""
    return Command(update={"messages": [ToolMessage("done", tool_call_id=tool_call_id), HumanMessage(what)]})


class House:
    """Agents that share a memory."""

    def __init__(self, mask: Any) -> None:
        self.log, self.memories = InMemoryConversationLog(), InMemoryMemories()
        self.options: Any = {"log": self.log, "memories": self.memories, "remember": "turns", "mask": mask}

    def agent(self, replies: list[AIMessage], *, tools: Any = (), beside: Any = (), saver: Any = None) -> Any:
        model = ScriptedChatModel(responses=replies)
        return create_agent(
            model, list(tools), middleware=[*beside, MemoryMiddleware(**self.options)], checkpointer=saver
        )

    def asks_another(self, saver: Any) -> Any:
        other = self.agent([AIMessage("It rains.")])

        @tool
        async def ask(what: str) -> str:
            """Ask another agent."""
            state = await other.ainvoke({"messages": [HumanMessage(what)]})
            return str(state["messages"][-1].text)

        return self.agent([CALL, AIMessage(ANSWERED)], tools=[ask], saver=saver)


def summarising() -> Any:
    return SummarizationMiddleware(
        ScriptedChatModel(responses=[AIMessage("A summary.")]), trigger=("messages", 3), keep=("messages", 2)
    )


HOUSES: dict[str, Any] = {
    "before the model": lambda house, saver: house.agent([AIMessage(ANSWERED)], beside=[Before()], saver=saver),
    "after the model": lambda house, saver: house.agent([AIMessage(ANSWERED)], beside=[After()], saver=saver),
    "a tool": lambda house, saver: house.agent([CALL, AIMessage(ANSWERED)], tools=[writes], saver=saver),
    "a tool of the template": lambda house, saver: build_graph(
        chat_model=ScriptedChatModel(responses=[CALL, AIMessage(ANSWERED)]), tools=[writes], **house.options
    ).compile(checkpointer=saver),
    "another agent": House.asks_another,
    "a summary within the turn": lambda house, saver: house.agent(
        [CALL, AIMessage(ANSWERED)], tools=[writes], beside=[summarising()], saver=saver
    ),
}


@pytest.mark.filterwarnings("ignore:Turns are remembered word for word")
@pytest.mark.parametrize("mask", ["auto", True])
@pytest.mark.parametrize("name", HOUSES)
async def test_log_and_memories_have_what_the_user_said(name: str, mask: Any) -> None:
    house = House(mask)
    graph = HOUSES[name](house, RedactingSaver(InMemorySaver()))
    await graph.ainvoke({"messages": [("user", SAID)]}, THREAD)
    assert [(turn.input_text, turn.output_text) for turn in house.log.turns] == [(SAID, ANSWERED)]
    found = await house.memories.search("ann", SAID, limit=10, threshold=0)
    assert sorted(each.record.text for each in found) == [f"Assistant: {ANSWERED}", f"User: {SAID}"]
