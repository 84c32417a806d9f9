"""A sub-graph that remembers by itself, in a namespace of its own."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import START, StateGraph, add_messages
from langgraph.pregel import Pregel

from testkit.planting.scenarios.base import Scenario
from testkit.planting.sessions import Session
from testkit.planting.turns import next_result, turn


class Asked(TypedDict):
    """What both graphs share."""

    messages: Annotated[list[AnyMessage], add_messages]


class Notes(Asked):
    """What only the inner graph knows."""

    notes: dict[str, Any]


def _note(state: Notes) -> dict[str, Any]:
    kept = dict(state.get("notes") or {})
    return {"notes": kept | {str(len(kept)): next_result("nothing")}, "messages": [AIMessage("Noted.")]}


def build() -> Pregel[Any, Any, Any, Any]:
    """Return a graph with another one in it."""
    inner = StateGraph(Notes)
    inner.add_node("note", _note)
    inner.add_edge(START, "note")
    outer = StateGraph(Asked)
    outer.add_node("clerk", inner.compile(checkpointer=True))
    outer.add_edge(START, "clerk")
    return outer.compile()


async def plant(session: Session) -> None:
    """Say two things that the inner graph keeps."""
    book = session.book
    for _ in range(2):
        with turn(results=[{"contact": book.plain("subgraph_state"), "text": book.said("subgraph_state")}]):
            await session.run({"messages": [HumanMessage(book.said("human_message"))]})


NESTED = Scenario(build, plant)
