"""The graphs that have the conversations: ours, and LangChain's agent over the stock saver with and without PIIMiddleware."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from importlib.metadata import version
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import PIIMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from planting.values import Turn
from redacting.engines import LANGCHAIN_DETECTORS
from turning.sides import TEMPLATE, open_side
from turning.talk import ConstantTimeEmbeddings

from discreet.testing.chat_models import RecordingChatModel

Opener = Callable[[str, list[Turn]], AbstractAsyncContextManager[Any]]
"""DSN, turns -> a graph over a database there."""

OURS = "discreet"


class Repeating(RecordingChatModel):
    """Calls the tool once a turn, then repeats what the user has said and what the tool has returned."""

    @property
    def _llm_type(self) -> str:
        return "repeating"

    def _next(self, messages: list[BaseMessage], options: dict[str, object]) -> AIMessage:
        last = messages[-1]
        if not isinstance(last, ToolMessage):
            return AIMessage("", tool_calls=[{"name": "look_up", "args": {}, "id": f"call_{len(messages)}"}])
        said = next(message for message in reversed(messages) if isinstance(message, HumanMessage))
        return AIMessage(f"You said: {said.text} The record says: {last.text}")


def look_up_tool(results: Iterator[str]) -> BaseTool:
    """Return a tool that returns `results`, one a call."""

    @tool
    def look_up() -> str:
        """Look the customer up."""
        return next(results)

    return look_up


@asynccontextmanager
async def ours(dsn: str, turns: list[Turn]) -> AsyncIterator[Any]:
    """Yield the template over one storage."""
    tools = [look_up_tool(turn.result for turn in turns)]
    async with open_side(TEMPLATE, dsn, ConstantTimeEmbeddings(), chat_model=Repeating(), tools=tools) as graph:
        yield graph


@asynccontextmanager
async def agent(dsn: str, turns: list[Turn], *, masked: bool) -> AsyncIterator[Any]:
    """Yield LangChain's agent over the stock saver; `masked`: with every detector of PIIMiddleware, on everything."""
    middleware = [
        PIIMiddleware(kind, apply_to_input=True, apply_to_output=True, apply_to_tool_results=True)
        for kind in (LANGCHAIN_DETECTORS if masked else ())
    ]
    async with AsyncPostgresSaver.from_conn_string(dsn) as saver:
        await saver.setup()
        tools = [look_up_tool(turn.result for turn in turns)]
        yield create_agent(Repeating(), tools, middleware=middleware, checkpointer=saver)


OPENERS: dict[str, Opener] = {
    OURS: ours,
    f"PostgresSaver {version('langgraph-checkpoint-postgres')}": partial(agent, masked=False),
    f"PIIMiddleware {version('langchain')} over it": partial(agent, masked=True),
}
"""By name, as the report has it."""
