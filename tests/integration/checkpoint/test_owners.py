"""Each thread has an owner, whom one row names: who reads the others learns nobody's key."""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
import pytest
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from testkit.keys import USER_KEYS

from discreet.access.user_keys import load_user_keys
from discreet.checkpoint import RedactingSaver
from discreet.checkpoint.postgres.threads import NOBODY
from discreet.encryption import Keyring, make_key
from discreet.errors import InvalidThreadError, InvalidUserError
from discreet.settings import Settings
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

NUMBER = UUID("0d2c5b1e-7a44-4f0b-9b7a-3f2f6f0c9e11")
ANN, BOB = USER_KEYS.of_user("ann"), USER_KEYS.of_user("bob")
OWN_KEY = USER_KEYS.of_thread("t")
TABLES = (
    "checkpoint_threads",
    "checkpoints",
    "checkpoint_blobs",
    "checkpoint_writes",
    "checkpoint_messages",
    "checkpoint_spill",
)


@dataclass
class Speaker:
    """A context of somebody else's graph."""

    user_id: object = None


def bot(state: MessagesState) -> dict[str, Any]:
    if "ask" in str(state["messages"][-1].content):
        interrupt("Which one?")
    return {"messages": [("ai", "Hello there")], "seen": ["a list, which LangGraph keeps as a blob"]}


class State(MessagesState):
    """A state with a channel beside the messages."""

    seen: list[str]


def graph_of(saver):
    builder = StateGraph(State, context_schema=Speaker)
    return builder.add_node("bot", bot).add_edge(START, "bot").compile(checkpointer=saver)


def thread(**configurable):
    return {"configurable": {"thread_id": "t", **configurable}}


def owner(dsn):
    """Return the owner of the thread; None if it has no row."""
    with psycopg.connect(dsn) as connection:
        row = connection.execute("SELECT user_key FROM checkpoint_threads WHERE thread_id = 't'").fetchone()
    return row and row[0]


def named_in(dsn, key):
    """Return the tables that have a key in a row, in any column but that of `owner`."""
    with psycopg.connect(dsn) as connection:
        return {
            table
            for table in TABLES
            for (row,) in connection.execute(f"SELECT t::text FROM {table} t")
            if str(key) in row or key.hex in row
        }


def stored(dsn):
    """Return the tables that have a row."""
    with psycopg.connect(dsn) as connection:
        return {table for table in TABLES if connection.execute(f"SELECT FROM {table} LIMIT 1").fetchone() is not None}


@pytest.fixture
async def saver(database):
    async with RedactingSaver.from_conn_string(database, keys=Keyring([make_key()])) as opened:
        await opened.setup()
        yield opened


SAID = {"messages": [("user", "Hi")]}


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("config", "context", "expected"),
    [
        (thread(), Speaker("ann"), ANN),
        (thread(user_id="ann"), None, ANN),
        (thread(user_id="bob"), Speaker("ann"), ANN),
        (thread(langgraph_auth_user_id="ann"), None, ANN),
        (thread(), None, OWN_KEY),
        (thread(user_id=7), None, USER_KEYS.of_user("7")),
        (thread(user_id="bob"), Speaker(0), USER_KEYS.of_user("0")),
        (thread(user_id=NUMBER), None, USER_KEYS.of_user(str(NUMBER))),
        (thread(langgraph_auth_user_id=""), None, OWN_KEY),
    ],
    ids=["context", "config", "both", "authenticated", "nobody", "int", "zero", "UUID", "not authenticated"],
)
async def test_a_thread_belongs_to_who_speaks_first(saver, database, config, context, expected):
    graph = graph_of(saver)
    await graph.ainvoke(SAID, config, context=context)
    assert owner(database) == expected
    await graph.ainvoke({"messages": [("user", "ask me")]}, config, context=context)
    assert named_in(database, expected) == {"checkpoint_threads"}


@pytest.mark.parametrize("user_id", ["not\nprintable", "", True, 7.5, b"ann", ["ann"]])
async def test_who_can_be_nobody_is_refused_and_nothing_is_stored(saver, database, user_id):
    for config, context in ((thread(user_id=user_id), None), (thread(), Speaker(user_id))):
        with pytest.raises(InvalidUserError, match="an int or a UUID"):
            await graph_of(saver).ainvoke(SAID, config, context=context)
    assert stored(database) == set()


async def test_no_thread_is_called_none(saver, database):
    graph, nowhere = graph_of(saver), {"configurable": {"thread_id": None}}
    for call in (graph.ainvoke(SAID, nowhere), graph.aupdate_state(nowhere, SAID)):
        with pytest.raises(InvalidThreadError):
            await call
    assert (await graph.aget_state(nowhere)).values == {}
    for written in (True, False):  # LangGraph writes them out before anybody else sees them
        with pytest.raises(InvalidThreadError):
            await graph.ainvoke(SAID, {"configurable": {"thread_id": written}})
    await saver.adelete_thread("None")  # another saver may have stored one
    for thread_id in (None, True, 7.5, b"t", ["t"]):
        for call in (
            saver.adelete_thread(thread_id),
            saver.aprune([thread_id]),
            saver.acopy_thread("t", thread_id),
            saver.aget_tuple({"configurable": {"thread_id": thread_id}}),
        ):
            with pytest.raises(InvalidThreadError, match="an int or a UUID"):
                await call
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT count(*) FROM checkpoints").fetchone() == (0,)


async def test_the_user_without_a_name_can_be_set_for_all(database, monkeypatch):
    monkeypatch.setenv("DISCREET_DEFAULT_USER", "ann")
    async with RedactingSaver.from_conn_string(database, keys=Keyring([make_key()])) as saver:
        await saver.setup()
        await graph_of(saver).ainvoke(SAID, thread())
    assert owner(database) == ANN


async def test_settings_are_read_before_the_first_turn(database, monkeypatch):
    """They take milliseconds: no call of a saver may read them, only a new connection does."""
    monkeypatch.setenv("DISCREET_POOL_SIZE", "1")
    async with RedactingSaver.from_conn_string(database, keys=Keyring([make_key()])) as saver:
        await saver.setup()
        graph = graph_of(saver)
        await graph.ainvoke(SAID, thread())
        monkeypatch.setattr(Settings, "__init__", lambda *_, **__: pytest.fail("they were read again"))
        await graph.ainvoke(SAID, thread())
        await graph.ainvoke({"messages": [("user", "ask me")]}, thread())
        assert (await graph.aget_state(thread())).interrupts


async def test_it_stays_theirs_whoever_speaks_later(saver, database):
    graph = graph_of(saver)
    await graph.ainvoke(SAID, thread(user_id="ann"))
    await graph.ainvoke(SAID, thread(user_id="bob"))
    await graph.aupdate_state(thread(), {"messages": [("user", "Added")]})
    assert owner(database) == ANN


async def test_what_was_nobodys_is_the_first_users_who_comes(saver, database):
    graph = graph_of(saver)
    await graph.ainvoke(SAID, thread())
    await graph.aupdate_state(thread(), {"messages": [("user", "Added")]})
    await graph.ainvoke(SAID, thread(user_id="ann"))
    assert owner(database) == ANN


async def test_a_deleted_thread_is_nobodys_and_may_be_somebody_elses_then(saver, database):
    graph = graph_of(saver)
    await graph.ainvoke(SAID, thread(user_id="ann"))
    await saver.adelete_thread("t")
    assert owner(database) == NOBODY
    await graph.ainvoke(SAID, thread(user_id="bob"))
    assert owner(database) == BOB


async def test_a_copy_has_the_same_owner(saver, database):
    await graph_of(saver).ainvoke(SAID, {"configurable": {"thread_id": "source", "user_id": "ann"}})
    await saver.acopy_thread("source", "t")
    assert owner(database) == ANN


async def test_rows_of_another_saver_are_adopted(database):
    async with AsyncPostgresSaver.from_conn_string(database) as stock:
        await stock.setup()
        await graph_of(stock).ainvoke(SAID, thread())
        async with RedactingSaver.from_conn_string(database, keys=Keyring([make_key()])) as saver:
            await saver.setup()
            assert owner(database) is None
            await graph_of(stock).ainvoke(SAID, thread())  # it goes on beside us
            await graph_of(saver).ainvoke(SAID, thread(user_id="ann"))
    assert owner(database) == ANN


async def test_threads_of_a_user_are_found_by_an_index(saver, database):
    await graph_of(saver).ainvoke(SAID, thread(user_id="ann"))
    with psycopg.connect(database) as connection:
        connection.execute(
            "INSERT INTO checkpoint_threads SELECT 'other ' || n, gen_random_uuid() FROM generate_series(1, 5000) n"
        )
        connection.execute("ANALYZE checkpoint_threads")
        query = "SELECT thread_id FROM checkpoint_threads WHERE user_key = %s"
        assert connection.execute(query, (ANN,)).fetchall() == [("t",)]
        plan = "\n".join(line for (line,) in connection.execute(f"EXPLAIN {query}", (ANN,)))
    assert "checkpoint_threads_user_key" in plan


async def test_over_the_pool_of_a_storage_users_are_known_as_the_storage_knows_them(database):
    """Else who is erased there keeps their conversations: a program may have given it settings with another identity key."""
    settings = Settings(identity_key=base64.b64encode(secrets.token_bytes(32)).decode())
    async with open_storage(database, embeddings=StubEmbeddings(), settings=settings) as storage:
        saver = RedactingSaver.from_pool(storage.pool)
        await saver.setup()
        await graph_of(saver).ainvoke({"messages": ["Hello"]}, thread(user_id="ann"))
        with psycopg.connect(database) as connection:
            [(found,)] = connection.execute("SELECT user_key FROM checkpoint_threads").fetchall()
        assert found == load_user_keys(settings).of_user("ann") != ANN
