"""docs/coming_from/postgres_saver.md: the same threads under our saver, and a database that holds no raw value after it."""

from __future__ import annotations

import re
from contextlib import AsyncExitStack
from operator import add
from typing import Annotated, Any

import psycopg
import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from testkit.coming_from import EMAIL, PHONE, Page, raw_in, rows_of

from discreet.checkpoint import KEEP, CheckpointPolicy, RedactingSaver, RedactingSyncSaver
from discreet.errors import ConfigurationError

PAGE = Page("postgres_saver.md")
SAID = [f"Write to {EMAIL}", "What was my number?", f"It is {PHONE}"]


class State(MessagesState, total=False):
    locale: str
    notes: Annotated[list[str], add]


def builder(seen: list[Any] | None = None, *, asks: bool = False) -> StateGraph[Any]:
    """Return a graph that looks something up, answers, and notes what it was told."""

    def look_up(state: State) -> dict[str, Any]:
        if seen is not None:
            seen.append([(m.type, m.text) for m in state["messages"]])
        call = {"name": "find", "args": {"who": EMAIL}, "id": f"call-{len(state['messages'])}"}
        found = ToolMessage(f"{EMAIL} has {PHONE}", tool_call_id=call["id"])
        return {"messages": [AIMessage("", tool_calls=[call]), found], "locale": "vi", "notes": [EMAIL]}

    def answer(state: State) -> dict[str, Any]:
        agreed = f" {interrupt('May I?')}" if asks else ""
        said = next(m.text for m in reversed(state["messages"]) if m.type == "human")
        return {"messages": [AIMessage(f"You said: {said}{agreed}")]}

    graph = StateGraph(State)
    graph.add_node("look_up", look_up)
    graph.add_node("answer", answer)
    graph.add_edge(START, "look_up")
    graph.add_edge("look_up", "answer")
    return graph


def thread(name: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": name}}


async def talk(graph: Any, name: str, *texts: str) -> None:
    for text in texts:
        await graph.ainvoke({"messages": [("user", text)]}, thread(name))


async def told(graph: Any, name: str) -> list[tuple[str, str]]:
    values = (await graph.aget_state(thread(name))).values
    return [(m.type, m.text) for m in values["messages"] if m.type in {"human", "ai"} and m.text]


def conversation(*texts: str) -> list[tuple[str, str]]:
    return [pair for text in texts for pair in (("human", text), ("ai", f"You said: {text}"))]


def blurred(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [
        (who, re.sub(r"<(\w+):\w+>", r"<\1>", text.replace(EMAIL, "<EMAIL>").replace(PHONE, "<PHONE>")))
        for who, text in pairs
    ]


async def test_the_page_from_its_first_command_to_its_last(empty_database, terminal):
    dsn = empty_database
    async with PAGE.program("before", dsn=dsn, builder=builder()) as names:
        assert type(names["saver"]) is AsyncPostgresSaver
        for name in ("one", "two"):
            await talk(names["graph"], name, *SAID[:2])
    stored = rows_of(dsn)
    scan, dry_run, scrub, check = PAGE.commands(**{"$DSN": dsn})

    found = terminal.run(*scan)
    assert "EMAIL" in found.out and "PHONE" in found.out and "discreet scrub" in found.out
    assert EMAIL not in (terminal.folder / "before.html").read_text(encoding="utf-8")
    terminal.run(*check, code=1)
    assert rows_of(dsn) == stored

    async with PAGE.program("after", dsn=dsn, builder=builder(seen := [])) as names:
        assert type(names["saver"]) is RedactingSaver
        await talk(names["graph"], "one", SAID[2])
        assert [pair for pair in seen[0] if pair[0] == "human"][:2] == [("human", text) for text in SAID[:2]]
    assert raw_in(dsn), "old rows stay as they are without a scrub"

    assert "would change" in terminal.run(*dry_run).out
    terminal.run(*scrub, code=1)  # nobody can be asked here
    assert "A second scan found no sensitive value." in terminal.run(*scrub, "--yes").out
    assert "There is nothing for discreet scrub to take out." in terminal.run(*check).out
    assert raw_in(dsn) == []

    async with PAGE.program("after", dsn=dsn, builder=builder()) as names:
        await talk(names["graph"], "two", SAID[2])
        for name in ("one", "two"):
            assert blurred(await told(names["graph"], name)) == blurred(conversation(*SAID))
    assert raw_in(dsn) == []
    async with PAGE.program("before", dsn=dsn, builder=builder()) as names:
        assert blurred(await told(names["graph"], "two"))[:4] == blurred(conversation(*SAID[:2]))
