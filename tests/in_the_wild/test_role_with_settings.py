"""A role, a database and a schema that an administrator has made as they make all of theirs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from testkit import pooler

from discreet.checkpoint import RedactingSaver, RedactingSyncSaver
from discreet.checkpoint.migrating import migrate_checkpoints
from discreet.errors import ConfigurationError, MigrationError, UnsupportedServerError
from discreet.graph import build_graph
from discreet.settings import Settings
from discreet.state.context import Context
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.testing import InMemoryKeys, StubEmbeddings

ODD = {
    "bytea_output": "escape",
    "client_encoding": "LATIN1",
    "datestyle": "German",
    "default_transaction_isolation": "serializable",
    "default_transaction_deferrable": "on",
    "extra_float_digits": "-5",
    "intervalstyle": "sql_standard",
    "search_path": "''",
    "standard_conforming_strings": "off",
    "timezone": "'Asia/Ho_Chi_Minh'",
}
OWN = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
"""How a pool for LangGraph's savers is opened."""
QUIET = {"reembed": False}
ANN = Context(user_id="ann")


def administer(dsn: str, *statements: str, **names: str) -> None:
    """Say `statements` as a superuser, with `names` quoted."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        quoted = {name: sql.Identifier(each) for name, each in names.items()}
        for statement in statements:
            connection.execute(sql.SQL(statement).format(db=sql.Identifier(connection.info.dbname), **quoted))


@pytest.fixture
def role(empty_database: str) -> Iterator[str]:
    """Return a role without any right but to its schema, for which an administrator has set what can be set."""
    role = "owner_of_" + urlsplit(empty_database).path.lstrip("/")
    administer(
        empty_database,
        "CREATE EXTENSION vector",
        "REVOKE CREATE ON DATABASE {db} FROM PUBLIC",
        "CREATE ROLE {role} LOGIN PASSWORD 'plain'",
        "CREATE SCHEMA discreet AUTHORIZATION {role}",
        "CREATE SCHEMA {role} AUTHORIZATION {role}",
        *(f"ALTER ROLE {{role}} IN DATABASE {{db}} SET {name} = {value}" for name, value in ODD.items()),
        role=role,
    )
    yield role
    administer(empty_database, "DROP OWNED BY {role} CASCADE", "DROP ROLE {role}", role=role)


@pytest.fixture(params=["direct", "pooled"])
def theirs(request: pytest.FixtureRequest, empty_database: str, role: str) -> Iterator[str]:
    """Return the DSN of that role, direct or through PgBouncer."""
    dsn = make_conninfo(empty_database, user=role, password="plain")
    if request.param == "direct":
        yield dsn
    elif pooler.installed() is None:
        pytest.skip("pgbouncer is not installed (Debian: apt-get install pgbouncer)")
    else:
        where = urlsplit(empty_database)
        with pooler.pooled(
            where._replace(netloc=f"{role}:plain@{where.netloc.rpartition('@')[2]}").geturl()
        ) as through:
            yield through


@pytest.mark.slow
async def test_turns_memories_and_items_go_on_whatever_is_set_for_the_role(theirs, role):
    settings = Settings(**QUIET)
    keys = InMemoryKeys()
    async with open_storage(theirs, settings=settings, embeddings=StubEmbeddings(dims=64), keys=keys) as storage:
        saver = RedactingSaver.from_pool(storage.pool, schema=role)
        await saver.setup()
        builder = build_graph(
            chat_model="offline", memories=storage.memories, log=storage.log, summaries=storage.summaries
        )
        graph = builder.compile(checkpointer=saver)
        config = {"configurable": {"thread_id": "1"}}
        for said in ("Xin chào, tôi nuôi hai con vẹt", "Привет", "你好"):
            await graph.ainvoke({"messages": [("user", said)]}, config, context=ANN)
        state = await graph.aget_state(config)
        assert [m.text for m in state.values["messages"] if m.type == "human"] == [
            "Xin chào, tôi nuôi hai con vẹt",
            "Привет",
            "你好",
        ]
        [saved] = await storage.memories.save("ann", [MemoryRecord(text="Nuôi hai con vẹt", confidence=0.123456789)])
        assert await storage.memories.get("ann", saved.entry_id) == saved
        [hit] = await storage.memories.search("ann", "con vẹt", limit=1)
        assert hit.record == saved
        await storage.store.aput(("birds",), "parrot", {"text": "Попугай"})
        [item] = await storage.store.asearch(("birds",), query="попугай")
        assert item.value == {"text": "Попугай"}
        assert await storage.health.state() == "ok"


async def test_a_schema_that_may_not_be_made_is_asked_for(empty_database, role):
    administer(empty_database, "DROP SCHEMA discreet")
    dsn = make_conninfo(empty_database, user=role, password="plain")
    with pytest.raises(MigrationError, match='CREATE SCHEMA "discreet"'):
        async with open_storage(dsn, settings=Settings(**QUIET), embeddings=StubEmbeddings(dims=64)):
            pass


async def test_everything_may_be_in_the_public_schema(empty_database):
    settings = Settings(**QUIET, DISCREET_SCHEMA="public")
    async with open_storage(empty_database, settings=settings, embeddings=StubEmbeddings(dims=64)) as storage:
        await storage.memories.save("ann", [MemoryRecord(text="Keeps parrots")])
        assert len(await storage.memories.search("ann", "parrots")) == 1


SAID = ("Hello, my parrot's name is Kiki", "Xin chào, tôi nuôi hai con vẹt", "Привет, ж", "你好，鹦鹉")


def program(saver: BaseCheckpointSaver[str]) -> Any:
    """Return a graph of one node, for turns and what is stored of them."""
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda state: {"messages": [("ai", state["messages"][-1].text)]})
    builder.add_edge(START, "answer")
    return builder.compile(checkpointer=saver)


def config(thread_id: str = "1") -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id}}


async def test_what_a_saver_stores_it_reads_whatever_encoding_is_set_for_the_role(theirs, role):
    async with RedactingSaver.from_conn_string(theirs, schema=role) as saver:
        await saver.setup()
        for said in SAID:
            await program(saver).ainvoke({"messages": [("user", said)]}, config())
    async with RedactingSaver.from_conn_string(theirs, schema=role) as saver:
        state = await program(saver).aget_state(config())
        assert [m.text for m in state.values["messages"] if m.type == "human"] == [*SAID]


def test_a_blocking_saver_does_the_same(theirs, role):
    with RedactingSyncSaver.from_conn_string(theirs, schema=role) as saver:
        saver.setup()
        for said in SAID:
            program(saver).invoke({"messages": [("user", said)]}, config())
    with RedactingSyncSaver.from_conn_string(theirs, schema=role) as saver:
        state = program(saver).get_state(config())
        assert [m.text for m in state.values["messages"] if m.type == "human"] == [*SAID]


async def test_a_pool_of_ones_own_in_another_encoding_is_refused(theirs, role):
    async with AsyncConnectionPool(theirs, kwargs=OWN, open=False) as pool:
        saver = RedactingSaver.from_pool(pool, schema=role)
        with pytest.raises(ConfigurationError, match=r"client_encoding.*LATIN1.*UTF8"):
            await saver.setup()
        with pytest.raises(ConfigurationError, match=r"client_encoding.*LATIN1.*UTF8"):
            await program(saver).ainvoke({"messages": [("user", "Привет")]}, config())
    with (
        ConnectionPool(theirs, kwargs=OWN, open=True) as blocking,
        pytest.raises(ConfigurationError, match=r"client_encoding.*LATIN1.*UTF8"),
    ):
        RedactingSyncSaver.from_pool(blocking, schema=role).setup()
    kwargs = {**OWN, "client_encoding": "UTF8"}
    async with AsyncConnectionPool(theirs, kwargs=kwargs, open=False) as pool:
        await RedactingSaver.from_pool(pool, schema=role).setup()


async def _open_storage(dsn: str) -> None:
    async with open_storage(dsn):
        pass


async def _set_up(dsn: str) -> None:
    async with RedactingSaver.from_conn_string(dsn) as saver:
        await saver.setup()


async def _set_up_blocking(dsn: str) -> None:
    with RedactingSyncSaver.from_conn_string(dsn) as saver:
        saver.setup()


async def _take_a_turn(dsn: str) -> None:
    async with RedactingSaver.from_conn_string(dsn) as saver:
        await program(saver).ainvoke({"messages": [("user", "ж")]}, config())


async def _migrate(dsn: str) -> None:
    await migrate_checkpoints(dsn)


@pytest.mark.parametrize("work", [_open_storage, _set_up, _set_up_blocking, _take_a_turn, _migrate])
@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
async def test_a_database_that_can_not_hold_what_people_write_is_refused(empty_database, encoding, work):
    name = f"{urlsplit(empty_database).path.lstrip('/')}_{encoding.lower()}"
    made = f"CREATE DATABASE {{name}} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0"
    administer(empty_database, made, name=name)
    dsn = urlsplit(empty_database)._replace(path=f"/{name}").geturl()
    try:
        with pytest.raises(UnsupportedServerError, match=f"{encoding}.*UTF8"):
            await work(dsn)
        with psycopg.connect(dsn, client_encoding="UTF8") as conn:
            made_there = conn.execute("SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)'")
            assert made_there.fetchall() == [("public",)]
    finally:
        administer(empty_database, "DROP DATABASE {name} WITH (FORCE)", name=name)
