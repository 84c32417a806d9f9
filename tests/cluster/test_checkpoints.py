"""The checkpoints of a thread are on one node, and what is read and written of it asks that node only."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from psycopg.conninfo import make_conninfo
from testkit.keys import USER_KEYS
from testkit.roles import logins

from discreet.checkpoint import RedactingSaver, RedactingSyncSaver
from discreet.checkpoint.migrating import THREAD_TABLES
from discreet.cli.migrate import run_check, run_migrate
from discreet.encryption import Keyring, make_key
from discreet.storage.database.roles import RoleNames

KEYS = Keyring([make_key()])
ONE_SHARD = "-c citus.multi_task_query_log_level=error"


@pytest.fixture
def spread(empty_cluster_database, capsys):
    """Return the DSN of a database all of whose tables are spread."""
    run_migrate(empty_cluster_database, checkpoint_schema=None, spread=True, as_json=False)
    told = capsys.readouterr().out
    assert all(f"spread public.{table} by thread_id" in told for table in THREAD_TABLES)
    assert run_check(empty_cluster_database, checkpoint_schema=None, spread=True, as_json=False) == 0
    return empty_cluster_database


@pytest.fixture
def one_shard(spread):
    return make_conninfo(spread, options=ONE_SHARD)


def bot(state: MessagesState) -> dict[str, Any]:
    if "ask" in str(state["messages"][-1].content):
        interrupt("Which one?")
    return {"messages": [("ai", f"answer {len(state['messages'])}")]}


def graph_of(saver):
    return StateGraph(MessagesState).add_node("bot", bot).add_edge(START, "bot").compile(checkpointer=saver)


def said(text):
    return {"messages": [("user", text)]}


def thread(name="t"):
    return {"configurable": {"thread_id": name, "user_id": "ann"}}


def texts(state):
    return [message.content for message in state.values["messages"]]


async def test_turns_pauses_and_updates_of_a_thread_ask_one_node(one_shard):
    async with (
        RedactingSaver.from_conn_string(one_shard, keys=KEYS) as saver,
        RedactingSaver.from_conn_string(one_shard, keys=KEYS) as elsewhere,
    ):
        graph, other = graph_of(saver), graph_of(elsewhere)
        await graph.ainvoke(said("one"), thread())
        await other.ainvoke(said("two"), thread())
        await graph.aupdate_state(thread(), said("three"))
        assert texts(await other.aget_state(thread())) == ["one", "answer 1", "two", "answer 3", "three"]
        assert len([state async for state in graph.aget_state_history(thread())]) > 2
        await saver.aprune(["t"], turns=1)
        assert texts(await other.aget_state(thread()))[-1] == "three"
    with psycopg.connect(one_shard) as connection:
        [(owner,)] = connection.execute("SELECT user_key FROM checkpoint_threads WHERE thread_id = 't'").fetchall()
    assert owner == USER_KEYS.of_user("ann")


async def test_as_the_application_a_thread_is_read_by_who_names_it(spread):
    await asyncio.to_thread(logins, spread)
    dsn = make_conninfo(spread, user=RoleNames().app, password="of-a-test")
    odd = "it's \\ a \"thread\"\n; of 'ann'"
    async with RedactingSaver.from_conn_string(dsn) as saver:
        graph = graph_of(saver)
        for name in ("t", odd):
            await graph.ainvoke(said("one"), thread(name))
        await saver.acopy_thread("t", "its copy")
        await saver.adelete_for_runs(["no run"])
        assert texts(await graph.aget_state(thread("its copy"))) == ["one", "answer 1"]
        assert texts(await graph.aget_state(thread(odd))) == ["one", "answer 1"]
        await saver.adelete_thread("t")
    with RedactingSyncSaver.from_conn_string(dsn) as saver:
        assert saver.get_tuple(thread("t")) is None
        assert saver.get_tuple(thread(odd)) is not None
    with psycopg.connect(dsn) as connection:
        for named, seen in (("its copy", [("its copy",)]), ("another", [])):
            connection.execute("SET LOCAL citus.propagate_set_commands = 'local'")
            connection.execute(f"SET LOCAL discreet.thread = '{named}'")
            assert connection.execute("SELECT DISTINCT thread_id FROM checkpoints").fetchall() == seen
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT user_key FROM checkpoint_threads WHERE thread_id = 'its copy'")
    with psycopg.connect(spread) as connection:
        rows = connection.execute("SELECT thread_id, user_key FROM checkpoint_threads").fetchall()
    assert dict(rows) | {"t": None} == {"t": None, odd: USER_KEYS.of_user("ann"), "its copy": USER_KEYS.of_user("ann")}


def test_the_blocking_calls_do_so_too(one_shard):
    with RedactingSyncSaver.from_conn_string(one_shard) as saver:
        graph = graph_of(saver)
        graph.invoke(said("one"), thread())
        assert texts(graph.get_state(thread())) == ["one", "answer 1"]


async def test_what_is_about_all_threads_works_over_all_nodes(spread):
    async with (
        RedactingSaver.from_conn_string(spread, keys=KEYS) as saver,
        RedactingSaver.from_conn_string(spread, keys=KEYS) as elsewhere,
    ):
        graph, other = graph_of(saver), graph_of(elsewhere)
        for number in range(8):
            await graph.ainvoke(said("hello"), thread(str(number)))
        found = {item.config["configurable"]["thread_id"] async for item in saver.alist(None)}
        assert found == {str(number) for number in range(8)}
        await graph.ainvoke(said("ask me"), thread("paused"))
        answered = await other.ainvoke(Command(resume="this one"), thread("paused"))
        assert answered["messages"][-1].content == "answer 1"
        await saver.acopy_thread("0", "copy")
        assert texts(await other.aget_state(thread("copy"))) == ["hello", "answer 1"]
        await saver.adelete_thread("0")
        assert (await other.aget_state(thread("0"))).values == {}
        await saver.adelete_for_runs(["nobody's"])
        assert texts(await other.aget_state(thread("copy"))) == ["hello", "answer 1"]


async def test_a_chat_that_a_program_clears_by_sql_is_gone(spread):
    async with RedactingSaver.from_conn_string(spread, keys=KEYS) as saver:
        graph = graph_of(saver)
        for name in ("cleared", "also", "stays"):
            await graph.ainvoke(said("one"), thread(name))
        await graph.ainvoke(said("ask me"), thread("also"))
        with psycopg.connect(spread) as connection:
            connection.execute("DELETE FROM checkpoints WHERE thread_id IN ('cleared', 'also')")
        assert texts(await graph.aget_state(thread("stays"))) == ["one", "answer 1"]
        for name in ("cleared", "also"):
            assert (await graph.aget_state(thread(name))).values == {}
            await graph.ainvoke(said("two"), thread(name))
            assert texts(await graph.aget_state(thread(name))) == ["two", "answer 1"]
    with psycopg.connect(spread) as connection:
        left = connection.execute(
            "SELECT DISTINCT thread_id, content FROM checkpoint_messages ORDER BY 1, 2"
        ).fetchall()
        pauses = connection.execute("SELECT count(*) FROM checkpoint_spill").fetchone()
    assert [said for _, said in left] == ["answer 1", "two"] * 2 + ["answer 1", "one"]
    assert pauses == (0,)
