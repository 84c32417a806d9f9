"""Packets that are sent to nodes side by side, and commands that update and go elsewhere."""

from __future__ import annotations

import operator
from typing import Annotated, Any, Literal, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import END, START, StateGraph, add_messages
from langgraph.pregel import Pregel
from langgraph.types import Command, Send

from testkit.planting.scenarios.base import Scenario
from testkit.planting.sessions import Session
from testkit.planting.turns import next_result, turn


class Mailing(TypedDict):
    """What is sent to whom."""

    messages: Annotated[list[AnyMessage], add_messages]
    people: list[str]
    reports: Annotated[list[str], operator.add]


def _fan_out(state: Mailing) -> list[Send]:
    return [Send("write", {"person": person, "reason": "reminder"}) for person in state.get("people") or ("nobody",)]


class Packet(TypedDict):
    """What one letter is about."""

    person: str
    reason: str


def _write(state: Packet) -> dict[str, Any]:
    return {"reports": [next_result("Written.")], "messages": [AIMessage(f"Wrote a {state['reason']}.")]}


def build_sends() -> Pregel[Any, Any, Any, Any]:
    """Return a graph that sends a packet for each person."""
    graph = StateGraph(Mailing)
    graph.add_node("write", _write, input_schema=Packet)
    graph.add_conditional_edges(START, _fan_out, ["write"])
    return graph.compile()


async def send(session: Session) -> None:
    """Write to three people at once."""
    book = session.book
    people = [book.plain("send_packet", "blobs", "writes", types=("EMAIL", "PHONE")) for _ in range(3)]
    with turn(results=[book.said("task_result", "blobs", "writes") for _ in people]):
        await session.run({"people": people, "messages": [HumanMessage(book.said("human_message"))]})


class Case(TypedDict):
    """A case that is handed over."""

    messages: Annotated[list[AnyMessage], add_messages]
    owner: str
    history: Annotated[list[str], operator.add]


def _route(state: Case) -> Command[Literal["close", "escalate"]]:
    given = next_result({"goto": "close", "update": {"owner": state.get("owner", "nobody")}})
    return Command(**given)


def _close(state: Case) -> dict[str, Any]:
    return {"history": [f"closed with {len(state['messages'])}"]}


def build_commands() -> Pregel[Any, Any, Any, Any]:
    """Return a graph whose first node says what comes next."""
    graph = StateGraph(Case)
    graph.add_node("route", _route)
    graph.add_node("close", _close)
    graph.add_node("escalate", lambda _: Command(goto=END))
    graph.add_edge(START, "route")
    return graph.compile()


async def command(session: Session) -> None:
    """Update the owner, which is text alone and so in the checkpoint itself, and a list."""
    book = session.book
    for goto in ("escalate", "close"):
        update = {
            "owner": book.plain("inline_channel", "checkpoint", types=("EMAIL",)),
            "history": [book.said("command_update", "blobs", "writes")],
        }
        with turn(results=[{"goto": goto, "update": update}]):
            await session.run({"messages": [HumanMessage(book.said("human_message"))]})


SENDS = Scenario(build_sends, send)
COMMANDS = Scenario(build_commands, command)
