"""Opening the savers over Postgres: a pool of one's own, a shared one, one connection; and the sync twin."""

import operator
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated
from uuid import uuid4

import psycopg
import pytest
from kit.search import in_rows
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from discreet.checkpoint import CheckpointPolicy, RedactingSaver, RedactingSyncSaver
from discreet.checkpoint.postgres import CONNECTION
from discreet.errors import LeakBlockedError, StorageUnavailableError

TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "checkpoint_messages")


@pytest.fixture
async def saver(database):
    async with RedactingSaver.from_conn_string(database) as made:
        await made.setup()
        yield made


def thread(thread_id):
    return {"configurable": {"thread_id": thread_id}}


def rows(dsn, query):
    with psycopg.connect(dsn) as connection:
        return connection.execute(query).fetchall()


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


async def test_the_durable_tier_refuses_what_slips_past_the_filter(saver, database):
    made = empty_checkpoint()
    made["channel_values"] = {"messages": [ToolMessage("raw", tool_call_id="1")]}
    made["channel_versions"] = {"messages": "1"}
    with pytest.raises(LeakBlockedError):
        await saver._durable.aput(
            {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}, made, {}, {"messages": "1"}
        )
    assert rows(database, "SELECT * FROM checkpoints") == []


class Noted(MessagesState):
    note: Annotated[list[str], operator.add]


async def test_nothing_of_what_a_stock_saver_wrote_outlives_a_turn_and_pruning(empty_database):
    builder = StateGraph(Noted)
    builder.add_node("answer", lambda _: {"messages": [AIMessage("answer", response_metadata={"model": "rawmodel"})]})
    builder.add_edge(START, "answer")
    async with AsyncConnectionPool(empty_database, kwargs=CONNECTION, open=False) as pool:
        stock, ours = AsyncPostgresSaver(pool), RedactingSaver.from_pool(pool)
        await ours.setup(guard=False)
        before = {"messages": [HumanMessage("hello", name="rawname")], "note": ["rawnote"]}
        await builder.compile(checkpointer=stock).ainvoke(before, thread("1"))
        graph = builder.compile(checkpointer=ours)
        await graph.ainvoke({"messages": [HumanMessage("and now")]}, thread("1"))
        assert len((await graph.aget_state(thread("1"))).values["messages"]) == 4
        await ours.aprune(["1"])
    assert in_rows(empty_database, "and now", "rawmodel", "rawname", "rawnote").keys() == {"and now"}


async def test_a_shared_pool_stays_open(agent, database):
    async with AsyncConnectionPool(database, kwargs=CONNECTION, open=False) as pool:
        made = RedactingSaver.from_pool(pool, CheckpointPolicy())
        await made.setup()
        await agent.compile(made).ainvoke(agent.say("hello"), thread("1"))
        async with pool.connection() as connection:
            assert await (await connection.execute("SELECT 1 FROM checkpoints")).fetchone()


@pytest.mark.slow
def test_the_sync_twin_serves_threads_at_once(agent, database):
    with RedactingSyncSaver.from_conn_string(database) as made:
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
