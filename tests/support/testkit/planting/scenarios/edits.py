"""States that were changed by hand, forks of older ones, messages taken away, and channels that keep only what changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage
from langgraph.channels import DeltaChannel
from langgraph.graph import START, StateGraph
from langgraph.pregel import Pregel

from testkit.planting.scenarios.base import Scenario
from testkit.planting.sessions import Session
from testkit.planting.turns import TurnModel, next_answer, turn


def build_edits() -> Pregel[Any, Any, Any, Any]:
    """Return an agent without tools."""
    return create_agent(TurnModel())


async def edit(session: Session) -> None:
    """Fork an older state, change the latest one, and take a message away, which older checkpoints keep."""
    book = session.book
    for _ in range(2):
        with turn([AIMessage(book.said("ai_message"))]):
            await session.run({"messages": [HumanMessage(book.said("human_message"))]})
    history = await session.history()
    if len(history) > 1:  # the shallow saver keeps none
        older = history[-1] if len(history) < 4 else history[len(history) // 2]
        with turn([AIMessage(book.said("forked_message"))]):
            forked = {"messages": [HumanMessage(book.said("forked_message"))]}
            await session.update(forked, config=older.config, as_node=START)
            await session.run(None)
    removed = HumanMessage(book.said("removed_message", "blobs"), id="to-remove")
    await session.update({"messages": [removed]}, as_node="model")
    await session.update({"messages": [RemoveMessage(id="to-remove")]}, as_node="model")
    await session.update({"messages": [AIMessage(book.said("updated_message", "blobs", "writes"))]}, as_node="model")


def _append(kept: list[AnyMessage], writes: Sequence[Any]) -> list[AnyMessage]:
    """Add messages; those of a write that is one message, too."""
    added = [message for write in writes for message in (write if isinstance(write, list) else [write])]
    return [*kept, *added]


class Log(TypedDict):
    """Messages of which each checkpoint keeps only the new ones."""

    messages: Annotated[list[AnyMessage], DeltaChannel(_append, snapshot_frequency=3)]


def build_deltas() -> Pregel[Any, Any, Any, Any]:
    """Return a graph of one node."""
    graph = StateGraph(Log)
    graph.add_node("answer", lambda _: {"messages": [next_answer()]})
    graph.add_edge(START, "answer")
    return graph.compile()


async def delta(session: Session) -> None:
    """Talk for a few turns, so that there are snapshots and writes."""
    book = session.book
    for _ in range(4):
        with turn([AIMessage(book.said("delta_write", "writes"))]):
            await session.run({"messages": [HumanMessage(book.said("delta_write", "writes"))]})


EDITED = Scenario(build_edits, edit)
DELTAS = Scenario(build_deltas, delta, needs_steps=True)
