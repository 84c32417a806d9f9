"""Which schema the tables are in, and that every statement says so."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from testkit.roles import role

from discreet.checkpoint import RedactingSaver, RedactingSyncSaver
from discreet.checkpoint.postgres import CONNECTION
from discreet.encryption import Keyring, make_key
from discreet.errors import ConfigurationError, MigrationError

THREAD: dict[str, Any] = {"configurable": {"thread_id": "1"}}
TABLES = """
SELECT DISTINCT schemaname::text FROM pg_tables WHERE tablename LIKE 'checkpoint%' ORDER BY 1
"""
SAID = ["one", "two", "answer to yes"]


@pytest.fixture
def dsn(empty_database):
    """Return a database of its own for each test, without any table."""
    return empty_database


def on_path(dsn: str, path: str) -> str:
    return f"{dsn}{'&' if '?' in dsn else '?'}options={quote(f'-csearch_path={path}')}"


def graph(saver: Any) -> Any:
    def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", f"answer to {interrupt('which?')}")]} if len(state["messages"]) > 1 else {}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    return builder.compile(checkpointer=saver)


async def use_all(saver: RedactingSaver) -> None:
    """Send every statement once."""
    await saver.setup(guard=True)
    for text in ("one", "two"):
        await graph(saver).ainvoke({"messages": [("user", text)]}, THREAD)
    await graph(saver).ainvoke(Command(resume="yes"), THREAD)
    state = await graph(saver).aget_state(THREAD)
    assert [message.text for message in state.values["messages"]] == SAID
    assert [item async for item in saver.alist(THREAD, filter={"source": "input"})]
    await saver._durable.aget_delta_channel_history(config=THREAD, channels=["messages", "other"])
    await saver._durable.aput_writes(state.config, [("__pregel_tasks", "x"), ("other", "y")], "task")
    await saver.acopy_thread("1", "2")
    await saver.aprune(["1"])
    await saver.adelete_for_runs(["run"])
    await saver.adelete_thread("2")
    await saver.setup(guard=False)


def use_all_blocking(saver: RedactingSyncSaver) -> None:
    saver.setup(guard=True)
    for text in ("one", "two"):
        graph(saver).invoke({"messages": [("user", text)]}, THREAD)
    graph(saver).invoke(Command(resume="yes"), THREAD)
    state = graph(saver).get_state(THREAD)
    assert [message.text for message in state.values["messages"]] == SAID
    assert list(saver.list(THREAD, filter={"source": "input"}))
    saver._durable.get_delta_channel_history(config=THREAD, channels=["messages", "other"])
    saver._durable.put_writes(state.config, [("__pregel_tasks", "x"), ("other", "y")], "task")
    saver.copy_thread("1", "2")
    saver.prune(["1"])
    saver.delete_for_runs(["run"])
    saver.delete_thread("2")
    saver.setup(guard=False)


@pytest.mark.slow
@pytest.mark.dialect
@pytest.mark.parametrize("schema", ["threads", 'Odd "name"', "checkpoints"])
async def test_nothing_is_looked_for_in_search_path(dsn, rows, schema):
    keys = Keyring([make_key()])
    async with RedactingSaver.from_conn_string(on_path(dsn, ""), keys=keys, schema=schema) as saver:
        await use_all(saver)
    assert rows(TABLES) == [schema]


@pytest.mark.slow
def test_nothing_is_looked_for_in_search_path_by_the_sync_saver(dsn, rows):
    keys = Keyring([make_key()])
    with RedactingSyncSaver.from_conn_string(on_path(dsn, ""), keys=keys, schema="threads") as saver:
        use_all_blocking(saver)
    assert rows(TABLES) == ["threads"]


@pytest.mark.slow
@pytest.mark.dialect
async def test_tables_are_where_langgraph_would_create_them(dsn, rows):
    rows("CREATE SCHEMA first; CREATE SCHEMA second")
    async with RedactingSaver.from_conn_string(
        on_path(dsn, "missing,first,second"), keys=Keyring([make_key()])
    ) as saver:
        await use_all(saver)
    assert rows(TABLES) == ["first"]


@pytest.mark.slow
async def test_threads_are_found_after_somebody_has_made_a_schema_named_like_the_role(dsn, rows):
    with role(dsn, "CREATE ON SCHEMA public") as (name, as_role):
        rows(f"GRANT CREATE ON DATABASE {psycopg.conninfo.conninfo_to_dict(dsn)['dbname']} TO {name}")
        async with RedactingSaver.from_conn_string(as_role) as saver:
            await saver.setup()
            await graph(saver).ainvoke({"messages": [("user", "one")]}, THREAD)
        rows(f"CREATE SCHEMA {name} AUTHORIZATION {name}")
        async with RedactingSaver.from_conn_string(as_role, keys=Keyring([make_key()])) as saver:
            await saver.setup()
            assert len((await graph(saver).aget_state(THREAD)).values["messages"]) == 1
        assert rows(TABLES) == ["public"]


@pytest.mark.slow
@pytest.mark.dialect
async def test_two_sets_of_tables_in_sight_are_refused(dsn, rows):
    for schema in ("left", "right"):
        rows(f'CREATE SCHEMA "{schema}"')
        with psycopg.connect(on_path(dsn, f'"{schema}"'), **CONNECTION) as connection:
            PostgresSaver(connection).setup()
    both = on_path(dsn, '"left","right"')
    async with RedactingSaver.from_conn_string(both) as saver:
        with pytest.raises(ConfigurationError, match='"left" and "right"'):
            await saver.setup()
        with pytest.raises(ConfigurationError, match='"left" and "right"'):
            await saver.aget_tuple(THREAD)
    async with RedactingSaver.from_conn_string(both, schema="right") as saver:
        await use_all(saver)


async def test_no_schema_in_sight_is_refused(dsn):
    async with RedactingSaver.from_conn_string(on_path(dsn, "")) as saver:
        with pytest.raises(ConfigurationError, match="schema="):
            await saver.setup()


DML = "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public"


@pytest.mark.slow
async def test_setup_of_a_role_that_owns_nothing_looks_and_changes_nothing(dsn, rows):
    keys = Keyring([make_key()])
    async with RedactingSaver.from_conn_string(dsn, keys=keys) as owner:
        await owner.setup()
    with role(dsn, DML) as (_, as_role), psycopg.connect(dsn) as other:
        # any change would wait for this
        other.execute("LOCK TABLE checkpoints, checkpoint_migrations IN SHARE UPDATE EXCLUSIVE MODE")
        async with RedactingSaver.from_conn_string(as_role, keys=keys) as saver:
            await saver.setup()
            await saver.setup(guard=True)
            await graph(saver).ainvoke({"messages": [("user", "one")]}, THREAD)
        with RedactingSyncSaver.from_conn_string(as_role, keys=keys) as blocking:
            blocking.setup()
        other.rollback()


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("missing", "named"),
    [
        ("DROP TABLE checkpoint_messages", "checkpoint_messages"),
        ("DROP INDEX checkpoints_run_id_idx", "checkpoints_run_id_idx"),
        ("DROP TABLE checkpoint_spill", "checkpoint_spill"),
        ("DELETE FROM checkpoint_migrations WHERE v = 9", "migration 9"),
        ("DROP TABLE checkpoints CASCADE", "LangGraph's tables"),
    ],
)
async def test_a_role_that_may_not_create_what_is_missing_is_told_what_to_do(dsn, rows, missing, named):
    keys = Keyring([make_key()])
    async with RedactingSaver.from_conn_string(dsn, keys=keys) as owner:
        await owner.setup()
    with role(dsn, DML) as (_, as_role):
        rows(missing)
        async with RedactingSaver.from_conn_string(as_role, keys=keys) as saver:
            with pytest.raises(MigrationError, match=named) as caught:
                await saver.setup()
        assert "GRANT" in str(caught.value)
        with (
            RedactingSyncSaver.from_conn_string(as_role, keys=keys) as blocking,
            pytest.raises(MigrationError, match=named),
        ):
            blocking.setup()


async def test_a_schema_that_this_role_may_not_create_is_named(dsn):
    with role(dsn) as (_, as_role):
        async with RedactingSaver.from_conn_string(as_role, schema="elsewhere") as saver:
            with pytest.raises(MigrationError, match='schema "elsewhere"'):
                await saver.setup()


@pytest.mark.parametrize("schema", ["", "a%b"])
async def test_a_name_that_no_schema_can_have_is_refused(dsn, schema):
    with pytest.raises(ConfigurationError, match="schema="):
        async with RedactingSaver.from_conn_string(dsn, schema=schema):
            pass
