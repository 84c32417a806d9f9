"""A database that answers and stores nothing: it is read only, its disk is full, or the program has closed the pool meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from psycopg.conninfo import make_conninfo
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from testkit.houses import House

from discreet.checkpoint import RedactingSaver, RedactingSyncSaver
from discreet.errors import ReadOnlyServerError, ServerFullError, StorageClosedError

THREAD: RunnableConfig = {"configurable": {"thread_id": "1"}}
OWN: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "client_encoding": "UTF8"}
FULL = """
CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
END $$;
CREATE TRIGGER no_room BEFORE INSERT ON {table} EXECUTE FUNCTION no_room();
"""


def program(saver: BaseCheckpointSaver[Any], meanwhile: Callable[[], None] = lambda: None) -> Any:
    """Return a graph of one node; what happens `meanwhile` happens in it."""

    def answer(state: MessagesState) -> dict[str, Any]:
        meanwhile()
        return {"messages": [("ai", f"answer to {state['messages'][-1].text}")]}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    return builder.compile(checkpointer=saver)


def said(text: str) -> dict[str, Any]:
    return {"messages": [("user", text)]}


async def texts(saver: BaseCheckpointSaver[Any]) -> list[str]:
    state = await program(saver).aget_state(THREAD)
    assert state.next == ()
    return [message.text for message in state.values.get("messages", [])]


def read_only(dsn: str) -> str:
    return make_conninfo(dsn, options="-c default_transaction_read_only=on")


def no_room(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        [(table,)] = conn.execute("SELECT oid::regclass::text FROM pg_class WHERE relname = 'checkpoints'").fetchall()
        conn.execute(FULL.format(table=table))  # type: ignore[call-overload]  # of this test


@pytest.mark.parametrize("earlier", [[], ["first"]], ids=["a-new-thread", "an-old-thread"])
@pytest.mark.parametrize("kind", ["ours", "stock"])
async def test_of_a_database_that_takes_no_writes_nothing_unstored_is_shown(house: House, run, kind, earlier):
    opened: Any = RedactingSaver if kind == "ours" else AsyncPostgresSaver
    async with opened.from_conn_string(house.dsn) as saver:
        await saver.setup()
        for text in earlier:
            await run(program(saver), said(text), THREAD)
        stored = await texts(saver)
    refused: Any = ReadOnlyServerError if kind == "ours" else psycopg.errors.ReadOnlySqlTransaction
    async with opened.from_conn_string(read_only(house.dsn)) as saver:
        for text in ("Hello", "Xin chào", "Привет", "你好"):
            with pytest.raises(refused, match="read"):
                await run(program(saver), said(text), THREAD)
            assert await texts(saver) == stored
    async with opened.from_conn_string(house.dsn) as saver:
        assert await texts(saver) == stored
        await run(program(saver), said("and now"), THREAD)
        assert await texts(saver) == [*stored, "and now", "answer to and now"]


async def test_of_a_full_disk_the_turn_says_so_and_its_end_is_stored_with_the_next(house: House):
    async with RedactingSaver.from_conn_string(house.dsn) as saver:
        await saver.setup()
        with pytest.raises(ServerFullError, match="is another turn"):
            await program(saver, lambda: no_room(house.dsn)).ainvoke(said("one"), THREAD, durability="sync")
        with psycopg.connect(house.dsn, autocommit=True) as conn:
            conn.execute("DROP FUNCTION no_room CASCADE")
        await program(saver).ainvoke(said("two"), THREAD, durability="sync")
    async with RedactingSaver.from_conn_string(house.dsn) as saver:
        assert await texts(saver) == ["one", "answer to one", "two", "answer to two"]


async def test_a_message_for_which_there_is_no_room_is_not_shown(house: House, run):
    async with RedactingSaver.from_conn_string(house.dsn) as saver:
        await saver.setup()
        await run(program(saver), said("first"), THREAD)
        no_room(house.dsn)
        with pytest.raises(ServerFullError):
            await program(saver).ainvoke(said("one"), THREAD, durability="sync")
        assert await texts(saver) == ["first", "answer to first"]


async def test_a_pool_that_is_closed_in_flight_is_named(house: House, run):
    async with AsyncConnectionPool(house.dsn, kwargs=OWN, open=False) as pool:
        saver = RedactingSaver.from_pool(pool)
        await saver.setup()
        loop = asyncio.get_running_loop()

        def close() -> None:
            asyncio.run_coroutine_threadsafe(pool.close(), loop).result()

        with pytest.raises(StorageClosedError, match="closed"):
            await run(program(saver, close), said("one"), THREAD)


def test_a_blocking_pool_that_is_closed_in_flight_is_named(house: House, durability):
    with ConnectionPool(house.dsn, kwargs=OWN, open=True) as pool:
        saver = RedactingSyncSaver.from_pool(pool)
        saver.setup()
        with pytest.raises(StorageClosedError, match="closed"):
            program(saver, pool.close).invoke(said("one"), THREAD, durability=durability)
