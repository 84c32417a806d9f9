"""What Postgres adds: safe first starts, parallel calls, deletion by run, copies, and the sync twin."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import psycopg
import pytest
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.types import Command
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from discreet.checkpoint import CheckpointPolicy, RedactingSaver, RedactingSyncSaver
from discreet.checkpoint.postgres import CONNECTION
from discreet.errors import LeakBlockedError, StorageUnavailableError


@pytest.fixture
async def saver(empty_database):
    async with RedactingSaver.from_conn_string(empty_database) as made:
        await made.setup()
        yield made


def thread(thread_id):
    return {"configurable": {"thread_id": thread_id}}


def rows(dsn, query):
    with psycopg.connect(dsn) as connection:
        return connection.execute(query).fetchall()


async def test_several_processes_may_start_at_once(empty_database):
    async def start():
        async with RedactingSaver.from_conn_string(empty_database) as made:
            await made.setup()

    await asyncio.gather(*(start() for _ in range(4)))
    versions = [version for (version,) in rows(empty_database, "SELECT v FROM checkpoint_migrations ORDER BY v")]
    assert versions == list(range(len(AsyncPostgresSaver.MIGRATIONS)))


def test_setup_looks_at_the_database_every_time(empty_database):
    with RedactingSyncSaver.from_conn_string(empty_database) as made:
        made.setup()
        with psycopg.connect(empty_database, autocommit=True) as connection:
            for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "checkpoint_migrations"):
                connection.execute(f"DROP TABLE {table}")
        made.setup()
        assert list(made.list(None)) == []


async def test_a_saver_over_one_connection_sets_up_and_works(agent, empty_database):
    async with await AsyncConnection.connect(empty_database, **CONNECTION) as connection:
        made = RedactingSaver(AsyncPostgresSaver(connection))
        await made.setup()
        await agent.compile(made).ainvoke(agent.say("hello"), thread("1"))
        assert len((await made.aget_tuple(thread("1"))).checkpoint["channel_values"]["messages"]) == 2


async def test_a_server_that_is_not_there_is_named_as_such(monkeypatch):
    monkeypatch.setattr("discreet.checkpoint.saver.CONNECT_TIMEOUT_SECONDS", 0.5)
    with pytest.raises(StorageUnavailableError):
        async with RedactingSaver.from_conn_string("postgresql://nobody@127.0.0.1:1/none"):
            pass


async def test_calls_do_not_wait_for_each_other(empty_database):
    """Upstream's saver lets one call in at a time, even over a pool: here both connections are in use at once."""
    async with AsyncConnectionPool(empty_database, min_size=2, max_size=2, kwargs=CONNECTION, open=False) as pool:
        made = RedactingSaver.from_pool(pool)
        await made.setup()
        meeting = asyncio.Barrier(2)

        async def call():
            async with made._durable._cursor():
                await meeting.wait()

        await asyncio.wait_for(asyncio.gather(call(), call()), timeout=5)


async def test_the_durable_tier_refuses_what_slips_past_the_filter(saver, empty_database):
    made = empty_checkpoint()
    made["channel_values"] = {"messages": [ToolMessage("raw", tool_call_id="1")]}
    made["channel_versions"] = {"messages": "1"}
    with pytest.raises(LeakBlockedError):
        await saver._durable.aput(
            {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}, made, {}, {"messages": "1"}
        )
    assert rows(empty_database, "SELECT * FROM checkpoints") == []


async def test_a_rolled_back_run_leaves_the_thread_as_it_was(agent, saver, empty_database):
    graph = agent.compile(saver)
    before, undone = str(uuid4()), str(uuid4())
    await graph.ainvoke(agent.say("first"), {**thread("1"), "metadata": {"run_id": before}})
    blobs = set(rows(empty_database, "SELECT channel, version FROM checkpoint_blobs"))
    await graph.ainvoke(agent.say("tool, pause"), {**thread("1"), "metadata": {"run_id": undone}})
    await saver.adelete_for_runs([undone])
    state = await graph.aget_state(thread("1"))
    assert (len(state.values["messages"]), state.next) == (2, ())
    assert set(rows(empty_database, "SELECT channel, version FROM checkpoint_blobs")) == blobs
    assert set(rows(empty_database, "SELECT metadata ->> 'run_id' FROM checkpoints")) == {(before,)}


async def test_a_copied_thread_goes_on_from_where_it_was_paused(agent, saver):
    graph = agent.compile(saver)
    await graph.ainvoke(agent.say("hello"), thread("1"))
    await graph.ainvoke(agent.say("tool, pause"), thread("1"))
    await saver.acopy_thread("1", "2")
    result = await graph.ainvoke(Command(resume="the answer"), thread("2"))
    assert "the answer" in result["messages"][-2].text
    assert (await graph.aget_state(thread("1"))).next == ("tools",)
    assert (await graph.aget_state(thread("2"))).next == ()


async def test_pruning_keeps_the_newest_state(agent, saver):
    graph = agent.compile(saver)
    for _ in range(3):
        await graph.ainvoke(agent.say("use the tool"), thread("1"))
    await saver.aprune(["1"])
    assert len([state async for state in graph.aget_state_history(thread("1"))]) == 1
    result = await graph.ainvoke(agent.say("use the tool"), thread("1"))
    assert [message.type for message in result["messages"] if message.type == "human"] == ["human"] * 4


async def test_a_shared_pool_stays_open(agent, empty_database):
    async with AsyncConnectionPool(empty_database, kwargs=CONNECTION, open=False) as pool:
        made = RedactingSaver.from_pool(pool, CheckpointPolicy())
        await made.setup()
        await agent.compile(made).ainvoke(agent.say("hello"), thread("1"))
        async with pool.connection() as connection:
            assert await (await connection.execute("SELECT 1 FROM checkpoints")).fetchone()


def test_the_sync_twin_serves_threads_at_once(agent, empty_database):
    with RedactingSyncSaver.from_conn_string(empty_database) as made:
        made.setup()
        graph = agent.compile(made)

        def talk(number):
            graph.invoke(agent.say(f"use the tool {number}"), thread(str(number)))
            graph.invoke(agent.say("tool, pause"), thread(str(number)))
            graph.invoke(Command(resume="yes"), thread(str(number)))
            return graph.get_state(thread(str(number))).values["messages"]

        with ThreadPoolExecutor(8) as executor:
            for number, messages in enumerate(executor.map(talk, range(16))):
                assert [message.type for message in messages] == ["human", "ai", "human", "ai"]
                assert f"use the tool {number} " in messages[0].text
        made.copy_thread("0", "copy")
        made.prune(["copy"])
        assert len(list(graph.get_state_history(thread("copy")))) == 1
        made.delete_thread("copy")
        made.delete_for_runs([str(uuid4())])
        assert graph.get_state(thread("copy")).values == {}
