"""Far more turns at once than the pool has connections, with a database that takes its time or is away."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from discreet.checkpoint import RedactingSaver, RedactingSyncSaver
from discreet.checkpoint.postgres import CONNECTION
from discreet.encryption import Keyring, make_key
from discreet.errors import ConfigurationError, StorageUnavailableError
from discreet.storage import open_storage, open_storage_sync
from discreet.testing import StubEmbeddings

TURNS = 200
POOL: dict[str, Any] = {"min_size": 6, "max_size": 6, "timeout": 1.0, "kwargs": CONNECTION}
SLOW = """
CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.02); RETURN NEW; END';
CREATE TRIGGER slow BEFORE INSERT ON checkpoints FOR EACH ROW EXECUTE FUNCTION slow()
"""
"""Two of them a turn take the pool longer than its time-out, many times over."""


def graph(saver: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda state: {"messages": [("ai", "answer")]})
    builder.add_edge(START, "answer")
    return builder.compile(checkpointer=saver)


def turn(number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"messages": [("user", "hello")]}, {"configurable": {"thread_id": str(number)}}


@pytest.mark.slow
async def test_two_hundred_turns_at_once_over_six_connections(dsn, rows):
    async with AsyncConnectionPool(dsn, open=False, **POOL) as pool:
        saver = RedactingSaver.from_pool(pool, keys=Keyring([make_key()]))
        await saver.setup()
        rows(SLOW)
        results = await asyncio.gather(
            *(graph(saver).ainvoke(*turn(number)) for number in range(TURNS)), return_exceptions=True
        )
    assert [each for each in results if isinstance(each, BaseException)] == []
    assert rows("SELECT count(DISTINCT thread_id) FROM checkpoints") == [TURNS]


@pytest.mark.slow
def test_two_hundred_turns_at_once_in_threads(dsn, rows):
    with ConnectionPool(dsn, open=True, **POOL) as pool:
        saver = RedactingSyncSaver.from_pool(pool)
        saver.setup()
        rows(SLOW)
        with ThreadPoolExecutor(TURNS) as threads:
            list(threads.map(lambda number: graph(saver).invoke(*turn(number)), range(TURNS)))
    assert rows("SELECT count(DISTINCT thread_id) FROM checkpoints") == [TURNS]


@pytest.mark.slow
async def test_nobody_waits_for_a_database_that_is_away_in_turn(relay):
    async with AsyncConnectionPool(relay.dsn, open=False, **POOL) as pool:
        saver = RedactingSaver.from_pool(pool)
        await saver.setup()
        relay.down()
        read = [saver.aget_tuple(turn(number)[1]) for number in range(TURNS)]
        results = await asyncio.wait_for(asyncio.gather(*read, return_exceptions=True), 25)  # one by one: 34 s
        assert {type(each) for each in results} == {StorageUnavailableError}
        relay.up()
        async with asyncio.timeout(60):
            while True:  # the pool tries to connect less and less often
                try:
                    await saver.aget_tuple(turn(1)[1])
                    break
                except StorageUnavailableError:
                    await pool.check()


async def test_the_pool_of_a_storage_is_shared(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=16)) as storage:
        saver = RedactingSaver.from_pool(storage.pool)
        await saver.setup()
        await graph(saver).ainvoke(*turn(1))
        async with RedactingSaver.from_conn_string(storage.dsn) as another:
            found = await another.aget_tuple(turn(1)[1])
            assert found.checkpoint["channel_values"]["messages"][-1].text == "answer"


def test_a_blocking_saver_goes_to_the_database_of_a_storage(database):
    with open_storage_sync(database, embeddings=StubEmbeddings(dims=16)) as storage:
        with pytest.raises(ConfigurationError, match=r"from_conn_string\(storage.dsn\)"):
            RedactingSyncSaver.from_pool(storage.pool)
        with RedactingSyncSaver.from_conn_string(storage.dsn) as saver:
            saver.setup()
            assert len(graph(saver).invoke(*turn(1))["messages"]) == 2


async def test_a_connection_outside_autocommit_is_refused(dsn):
    import psycopg

    with psycopg.connect(dsn) as conn, pytest.raises(ConfigurationError, match="autocommit"):
        RedactingSyncSaver(PostgresSaver(conn))
