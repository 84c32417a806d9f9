"""docs/coming_from/postgres_saver.md: the same threads under our saver, and a database that holds no raw value after it."""

from __future__ import annotations

import re
from contextlib import AsyncExitStack
from operator import add
from typing import Annotated, Any

import psycopg
import pytest
from kit.places import snapshot
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
from testkit.coming_from import EMAIL, PHONE, Page, raw_in

from discreet.checkpoint import KEEP, CheckpointPolicy, RedactingSaver, RedactingSyncSaver
from discreet.errors import CheckpointError

PAGE = Page("postgres_saver.md")
SAID = [f"Write to {EMAIL}", "What was my number?", f"It is {PHONE}"]


class State(MessagesState, total=False):
    locale: str
    notes: Annotated[list[str], add]


def joined(old: list[str], writes: Any) -> list[str]:
    return [*old, *(each for write in writes for each in write)]


DELTA = DeltaChannel(joined, list)


class Noted(MessagesState):
    files: Annotated[list[str], DELTA]


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


@pytest.mark.slow
async def test_the_page_from_its_first_command_to_its_last(empty_database, terminal):
    dsn = empty_database
    async with PAGE.program("before", dsn=dsn, builder=builder()) as names:
        assert type(names["saver"]) is AsyncPostgresSaver
        for name in ("one", "two"):
            await talk(names["graph"], name, *SAID[:2])
    stored = snapshot(dsn, written=True)
    scan, dry_run, scrub, check = PAGE.commands(**{"$DSN": dsn})

    found = terminal.run(*scan)
    assert {"EMAIL", "PHONE", "scrub"} <= set(found.split())
    assert EMAIL not in (terminal.folder / "before.html").read_text(encoding="utf-8")
    terminal.run(*check, code=1)
    assert snapshot(dsn, written=True) == stored

    async with PAGE.program("after", dsn=dsn, builder=builder(seen := [])) as names:
        assert type(names["saver"]) is RedactingSaver
        await talk(names["graph"], "one", SAID[2])
        assert [pair for pair in seen[0] if pair[0] == "human"][:2] == [("human", text) for text in SAID[:2]]
    assert raw_in(dsn), "old rows stay as they are without a scrub"

    assert "would change" in terminal.run(*dry_run)
    terminal.run(*scrub, code=1)  # nobody can be asked here
    assert "A second scan found no sensitive value." in terminal.run(*scrub, "--yes")
    assert "There is nothing for discreet scrub to take out." in terminal.run(*check)
    assert raw_in(dsn) == []

    async with PAGE.program("after", dsn=dsn, builder=builder()) as names:
        await talk(names["graph"], "two", SAID[2])
        for name in ("one", "two"):
            assert blurred(await told(names["graph"], name)) == blurred(conversation(*SAID))
    assert raw_in(dsn) == []
    async with PAGE.program("before", dsn=dsn, builder=builder()) as names:
        await talk(names["graph"], "two", "Good bye")
        assert blurred(await told(names["graph"], "two")) == blurred(conversation(*SAID, "Good bye"))


@pytest.mark.slow
async def test_what_ends_with_its_turn_and_what_a_policy_names(empty_database):
    policy = CheckpointPolicy(channels={"locale": KEEP})
    assert "CheckpointPolicy(channels={" + '"locale": KEEP})' in PAGE.text
    for name, given, kept in (("none", None, {"messages"}), ("named", policy, {"messages", "locale"})):
        async with RedactingSaver.from_conn_string(empty_database, given) as saver:
            await saver.setup()
            graph = builder().compile(checkpointer=saver)
            await talk(graph, name, *SAID)
            assert {key for key, value in (await graph.aget_state(thread(name))).values.items() if value} == kept
            states = [state async for state in graph.aget_state_history(thread(name))]
            assert all(state.metadata["source"] == "input" or not state.next for state in states), (
                "a step within a turn"
            )
            ends = [len(state.values["messages"]) for state in states if state.values.get("messages")]
            assert {2, 4, 6} <= set(ends)
            (first,) = [s for s in states if len(s.values.get("messages", ())) == 2 and not s.next]
            await graph.ainvoke({"messages": [("user", "Again")]}, first.config)
            assert blurred(await told(graph, name)) == blurred(conversation(SAID[0], "Again"))


async def test_a_delta_channel_has_to_be_declared(empty_database):
    graph = StateGraph(Noted)
    graph.add_node("answer", lambda state: {"messages": [("ai", "Hello.")], "files": ["a"]})
    graph.add_edge(START, "answer")
    async with RedactingSaver.from_conn_string(empty_database) as saver:
        await saver.setup()
        with pytest.raises(CheckpointError, match="deltas="):
            await talk(graph.compile(checkpointer=saver), "one", "Hi")
    policy = CheckpointPolicy(deltas={"files": DELTA})
    async with RedactingSaver.from_conn_string(empty_database, policy) as saver:
        compiled = graph.compile(checkpointer=saver)
        await talk(compiled, "two", "Hi")
        assert await told(compiled, "two") == [("human", "Hi"), ("ai", "Hello.")]


@pytest.mark.slow
async def test_interrupts_and_deletion_as_before(empty_database):
    async with PAGE.program("after", dsn=empty_database, builder=builder(asks=True)) as names:
        graph, saver = names["graph"], names["saver"]
        await talk(graph, "one", SAID[0])
        assert (await graph.aget_state(thread("one"))).next == ("answer",)
        await graph.ainvoke(Command(resume="yes"), thread("one"))
        assert blurred(await told(graph, "one")) == blurred([("human", SAID[0]), ("ai", f"You said: {SAID[0]} yes")])
        await saver.adelete_thread("one")
        assert (await graph.aget_state(thread("one"))).values == {}
    assert raw_in(empty_database) == []


def test_the_sync_saver_takes_the_place_of_the_stock_one(empty_database):
    assert "`RedactingSyncSaver` takes the place of `PostgresSaver`" in PAGE.text
    for cls in (PostgresSaver, RedactingSyncSaver):
        with cls.from_conn_string(empty_database) as saver:
            saver.setup()
            graph = builder(seen := []).compile(checkpointer=saver)
            graph.invoke({"messages": [("user", cls.__name__)]}, thread("one"))
    assert [text for who, text in seen[0] if who == "human"] == ["PostgresSaver", "RedactingSyncSaver"]


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("kind", ["pool", "sync pool", "sqlite", "async sqlite", "memory"])
async def test_other_places(kind, empty_database, tmp_path):
    path = str(tmp_path / "checkpoints.sqlite")
    options: Any = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    async with AsyncExitStack() as opened:
        if kind == "pool":
            pool = AsyncConnectionPool(empty_database, kwargs=options, open=False)
            saver: Any = RedactingSaver.from_pool(await opened.enter_async_context(pool))
        elif kind == "sync pool":
            saver = RedactingSyncSaver.from_pool(opened.enter_context(ConnectionPool(empty_database, kwargs=options)))
        elif kind == "sqlite":
            saver = RedactingSaver(opened.enter_context(SqliteSaver.from_conn_string(path)))
        elif kind == "async sqlite":
            saver = RedactingSaver(await opened.enter_async_context(AsyncSqliteSaver.from_conn_string(path)))
        else:
            saver = RedactingSaver(InMemorySaver())
        graph = builder().compile(checkpointer=saver)
        if kind.startswith("s"):
            if kind == "sync pool":
                saver.setup()
            graph.invoke({"messages": [("user", SAID[0])]}, thread("one"))
            values = graph.get_state(thread("one")).values
        else:
            await saver.setup()
            await talk(graph, "one", SAID[0])
            values = (await graph.aget_state(thread("one"))).values
        assert blurred([(m.type, m.text) for m in values["messages"]]) == blurred(conversation(SAID[0]))


@pytest.mark.slow
async def test_a_stock_saver_reads_threads_until_the_guard_is_on(empty_database, terminal):
    dsn = empty_database
    async with PAGE.program("before", dsn=dsn, builder=builder()) as names:
        await talk(names["graph"], "one", SAID[0])
    async with PAGE.program("after", dsn=dsn, builder=builder()) as names:
        await talk(names["graph"], "one", SAID[1])
        await talk(names["graph"], "two", *SAID[:2])
    async with PAGE.program("before", dsn=dsn, builder=builder()) as names:
        for name in ("one", "two"):
            assert blurred(await told(names["graph"], name)) == blurred(conversation(*SAID[:2]))
    terminal.run(*PAGE.commands(**{"$DSN": dsn})[2], "--yes")
    async with PAGE.program("after", dsn=dsn, builder=builder()) as names:
        await names["saver"].setup(guard=True)
        await talk(names["graph"], "one", SAID[2])
    async with PAGE.program("after", dsn=dsn, builder=builder()) as names:  # from its next start by row
        await talk(names["graph"], "one", "Still there?")
        assert blurred(await told(names["graph"], "one")) == blurred(conversation(*SAID, "Still there?"))


@pytest.mark.slow
async def test_how_a_database_grows(make_database):
    grown = {}
    for side in ("before", "after"):
        with make_database(template="template1") as dsn:
            async with PAGE.program(side, dsn=dsn, builder=builder()) as names:
                await talk(names["graph"], "one", *["Tell me more. " * 20] * 24)
            with psycopg.connect(dsn) as connection:
                (grown[side],) = connection.execute("SELECT sum(pg_table_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace").fetchone()  # fmt: skip
    assert grown["after"] < grown["before"] / 2
