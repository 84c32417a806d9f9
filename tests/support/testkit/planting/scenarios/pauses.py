"""Threads that wait for somebody's word, went on after it, or failed."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import START, StateGraph, add_messages
from langgraph.pregel import Pregel
from langgraph.types import Command, interrupt

from testkit.planting.scenarios.base import Scenario
from testkit.planting.sessions import Session
from testkit.planting.turns import fail_if_told, next_result, turn


class Transfer(TypedDict):
    """A transfer that needs approval."""

    messages: Annotated[list[AnyMessage], add_messages]
    decision: str


def _ask(state: Transfer) -> dict[str, Any]:
    said = interrupt(next_result({"question": "Go on?"}))
    return {"decision": str(said), "messages": [AIMessage("Noted.")]}


def _pay(state: Transfer) -> dict[str, Any]:
    fail_if_told()
    return {"messages": [AIMessage("Paid.")]}


def build() -> Pregel[Any, Any, Any, Any]:
    """Return a graph that asks, then pays."""
    graph = StateGraph(Transfer)
    graph.add_node("ask", _ask)
    graph.add_node("pay", _pay)
    graph.add_edge(START, "ask")
    graph.add_edge("ask", "pay")
    return graph.compile()


async def pause(session: Session) -> None:
    """Ask, and wait."""
    book = session.book
    payload = {
        "question": book.said("interrupt_payload", "writes"),
        "transfer": {"to": book.plain("interrupt_payload", "writes"), "amount": 120},
    }
    # It runs the node twice: once more when it goes on, which asks without these words.
    with turn(results=[payload]):
        await session.run({"messages": [HumanMessage(book.said("human_message"))]})


async def resume(session: Session) -> None:
    """Ask, and go on with what somebody wrote."""
    await pause(session)
    with turn():
        await session.run(Command(resume=session.book.said("resume_text", "writes", "checkpoint")))


async def fail(session: Session) -> None:
    """Go on, and fail with an error that tells too much."""
    book = session.book
    await pause(session)
    error = ValueError(f"Bank refused {book.plain('exception', 'writes')}: {book.said('exception', 'writes')}")
    with turn(error=error):
        try:
            await session.run(Command(resume=book.said("resume_text", "writes", "checkpoint")))
        except ValueError as raised:
            if raised is not error:
                raise


async def _answer(session: Session) -> None:
    await session.run(Command(resume="yes"))


async def _retry(session: Session) -> None:
    await session.run(None)


async def _ask_again(session: Session) -> None:
    await session.run({"messages": [HumanMessage("Another one.")]})
    await session.run(Command(resume="yes"))


PAUSED = Scenario(build, pause, state="paused", more=_answer, needs_steps=True)
RESUMED = Scenario(build, resume, more=_ask_again, needs_steps=True)
FAILED = Scenario(build, fail, state="failed", more=_retry, needs_steps=True)
