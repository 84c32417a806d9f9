"""Behind PgBouncer in transaction mode: each transaction may meet another server, and nothing prepared is there."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from testkit.pooler import SERVERS
from testkit.scripts import ScriptProcess

from discreet.checkpoint import RedactingSaver, RedactingSyncSaver
from discreet.encryption import Keyring, make_key

pytestmark = pytest.mark.slow

WORKER = Path(__file__).with_name("worker.py")
THREADS = 5
TURNS = 4


def thread(number: int) -> dict[str, Any]:
    return {"configurable": {"thread_id": f"thread-{number}"}}


def graph(saver: Any) -> Any:
    def answer(state: MessagesState) -> dict[str, Any]:
        text = state["messages"][-1].text
        said = interrupt("which?") if text.startswith("ask") else text
        return {"messages": [("ai", f"answer to {said}")]}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    return builder.compile(checkpointer=saver)


def say(text: str) -> dict[str, Any]:
    return {"messages": [("user", text)]}


def texts(state: Any) -> list[str]:
    return [message.text for message in state.values["messages"]]


EXPECTED = [text for turn in range(TURNS) for text in (f"turn {turn}", f"answer to turn {turn}")]


async def test_turns_of_an_async_saver_from_an_empty_database(pooled_database):
    keys = Keyring([make_key()])
    async with (
        RedactingSaver.from_conn_string(pooled_database, keys=keys) as one,
        RedactingSaver.from_conn_string(pooled_database, keys=keys) as other,
    ):
        await asyncio.gather(one.setup(), other.setup())
        graphs = graph(one), graph(other)

        async def converse(number):
            for turn in range(TURNS):
                await graphs[turn % 2].ainvoke(say(f"turn {turn}"), thread(number))
            await graphs[0].ainvoke(say("ask me"), thread(number))
            await graphs[1].ainvoke(Command(resume="yes"), thread(number))
            return texts(await graphs[0].aget_state(thread(number)))

        for found in await asyncio.gather(*map(converse, range(THREADS))):
            assert found == [*EXPECTED, "ask me", "answer to yes"]
        await one.adelete_thread("thread-0")
        await one.aprune(["thread-1"])
        assert [item async for item in one.alist(thread(0))] == []


def test_turns_of_a_sync_saver_from_an_empty_database(pooled_database):
    keys = Keyring([make_key()])
    with (
        RedactingSyncSaver.from_conn_string(pooled_database, keys=keys) as one,
        RedactingSyncSaver.from_conn_string(pooled_database, keys=keys) as other,
    ):
        one.setup()
        other.setup()
        graphs = graph(one), graph(other)

        def converse(number):
            for turn in range(TURNS):
                graphs[turn % 2].invoke(say(f"turn {turn}"), thread(number))
            graphs[0].invoke(say("ask me"), thread(number))
            graphs[1].invoke(Command(resume="yes"), thread(number))
            return texts(graphs[0].get_state(thread(number)))

        with ThreadPoolExecutor(THREADS) as pool:
            for found in pool.map(converse, range(THREADS)):
                assert found == [*EXPECTED, "ask me", "answer to yes"]
        one.delete_thread("thread-0")
        one.prune(["thread-1"])
        assert list(one.list(thread(0))) == []


def test_two_processes_start_at_once_on_an_empty_database_and_share_its_threads(pooled_database):
    with ScriptProcess(WORKER, pooled_database) as one, ScriptProcess(WORKER, pooled_database) as other:
        for turn in range(TURNS):
            process = (one, other)[turn % 2]
            process.stdin.write(f"turn {turn}\n")
            process.stdin.flush()
            line = process.stdout.readline()
            assert line, process.stderr.read()
            assert json.loads(line) == EXPECTED[: 2 * turn + 2]


async def prepared(saver: Any, connections: int = 6) -> set[int | None]:
    """Use so many connections of a saver's pool at once; return what they say of statements to prepare."""
    meeting = asyncio.Barrier(connections)

    async def use() -> int | None:
        async with saver._durable._connection() as conn:
            await meeting.wait()
            return conn.prepare_threshold

    return set(await asyncio.gather(*(use() for _ in range(connections))))


async def test_statements_are_prepared_on_direct_connections_only(pooled_database, empty_database, monkeypatch):
    async with RedactingSaver.from_conn_string(pooled_database) as saver:
        await saver.setup()
        assert await prepared(saver) == {None}
    async with RedactingSaver.from_conn_string(empty_database) as saver:
        assert await prepared(saver) == {0}
    monkeypatch.setenv("DISCREET_POOLER", "true")
    async with RedactingSaver.from_conn_string(empty_database) as saver:
        assert await prepared(saver) == {None}
    monkeypatch.setenv("DISCREET_POOLER", "false")
    async with RedactingSaver.from_conn_string(pooled_database) as saver:
        assert await prepared(saver) == {0}


async def test_nothing_of_a_session_is_left_to_other_clients(pooled_database):
    async with RedactingSaver.from_conn_string(pooled_database, keys=Keyring([make_key()])) as saver:
        await saver.setup()
        await graph(saver).ainvoke(say("hello"), thread(1))
    with psycopg.connect(pooled_database, autocommit=True, prepare_threshold=None) as connection:
        for _ in range(SERVERS):
            changed = connection.execute("SELECT name FROM pg_settings WHERE source = 'session'").fetchall()
            locks = connection.execute("SELECT objid FROM pg_locks WHERE locktype = 'advisory'").fetchall()
            prepared = connection.execute("SELECT name FROM pg_prepared_statements").fetchall()
            assert (locks, prepared) == ([], [])
            assert {name for (name,) in changed} <= {"application_name", "client_encoding", "DateStyle", "TimeZone"}


@pytest.mark.parametrize("autocommit", [True, False])
async def test_a_pool_that_was_made_without_our_options_works(pooled_database, autocommit):
    from psycopg_pool import AsyncConnectionPool

    kwargs = {"autocommit": autocommit}
    async with AsyncConnectionPool(pooled_database, open=False, min_size=1, max_size=3, kwargs=kwargs) as pool:
        saver = RedactingSaver.from_pool(pool, keys=Keyring([make_key()]))
        await saver.setup()
        for turn in range(TURNS):
            await graph(saver).ainvoke(say(f"turn {turn}"), thread(1))
        assert texts(await graph(saver).aget_state(thread(1))) == EXPECTED
        await saver.aprune(["thread-1"])
