"""Databases in which the DBA says where tables are and who may do what."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlsplit
from uuid import uuid4

import psycopg
import pytest
from langgraph.graph import START, MessagesState, StateGraph
from psycopg import sql
from testkit.houses import House

from discreet.checkpoint import RedactingSaver, RedactingSyncSaver
from discreet.errors import DiscreetError
from discreet.storage.database.migrating.migrations import migrate


def chat(house: House, saver: Any, *responses: Any) -> Any:
    model = house.model(*responses)
    builder = StateGraph(MessagesState)
    builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_edge(START, "model")
    return builder.compile(checkpointer=saver)


async def two_turns(house: House, run: Callable[..., Any], **options: Any) -> None:
    """Talk to two processes, the second of which has to know what was said to the first."""
    for what in ("one", "two"):
        async with house.saver(**options) as saver:
            await saver.setup()
            graph = chat(house, saver, house.answer(f"re{what}"))
            out = await run(graph, {"messages": [house.user(what)]}, house.config)
    assert house.told(out["messages"]) == [("human", "one"), ("ai", "reone"), ("human", "two"), ("ai", "retwo")]
    house.check()


def schemas_with_tables(house: House) -> set[str]:
    with psycopg.connect(house.dsn) as connection:
        rows = connection.execute("SELECT schemaname FROM pg_tables WHERE tablename LIKE 'checkpoint%'").fetchall()
    return {schema for (schema,) in rows}


def execute(house: House, *statements: str) -> None:
    with psycopg.connect(house.dsn, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)  # type: ignore[call-overload]  # statements of this file


@contextmanager
def role(house: House, name: str) -> Iterator[None]:
    """Create a role that may log in, and let the house's clients be it."""
    password = uuid4().hex
    with psycopg.connect(house.dsn, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(name), sql.Literal(password))
        )
    parts = urlsplit(house.dsn)
    house.clients_dsn = parts._replace(netloc=f"{quote(name)}:{password}@{parts.netloc.rpartition('@')[2]}").geturl()
    try:
        yield
    finally:
        with psycopg.connect(house.dsn, autocommit=True) as connection:
            for statement in ("DROP OWNED BY {} CASCADE", "DROP ROLE {}"):
                connection.execute(sql.SQL(statement).format(sql.Identifier(name)))


@pytest.mark.slow
@pytest.mark.parametrize("schema", ["memory", 'The "chat" tables'])
async def test_tables_are_where_the_constructor_says(bare_house, run, schema):
    with psycopg.connect(bare_house.dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
    await two_turns(bare_house, run, schema=schema)
    assert schemas_with_tables(bare_house) == {schema}


@pytest.mark.slow
async def test_the_synchronous_saver_uses_the_same_tables(bare_house, run):
    execute(bare_house, "CREATE SCHEMA memory")
    await two_turns(bare_house, run, schema="memory")
    with RedactingSyncSaver.from_conn_string(bare_house.dsn, schema="memory") as saver:
        state = chat(bare_house, saver).get_state(bare_house.config)
    assert len(state.values["messages"]) == 4


@pytest.mark.slow
async def test_tables_are_where_the_search_path_of_the_role_says(bare_house, run):
    execute(bare_house, "CREATE SCHEMA memory")
    name = f"app_{bare_house.planted.kept}"
    with role(bare_house, name):
        execute(
            bare_house, f"GRANT ALL ON SCHEMA memory TO {name}", f"ALTER ROLE {name} SET search_path = memory, public"
        )
        await two_turns(bare_house, run)
        assert schemas_with_tables(bare_house) == {"memory"}


@pytest.mark.slow
async def test_two_sets_of_tables_on_the_search_path_are_refused_by_name(bare_house, run):
    house = bare_house
    for schema in ("tenants_a", "tenants_b"):
        execute(house, f"CREATE SCHEMA {schema}")
        async with house.saver(schema=schema) as saver:
            await saver.setup()
    house.clients_dsn += f"&options={quote('-c search_path=tenants_a,tenants_b')}"
    with pytest.raises(DiscreetError) as refused:
        await two_turns(house, run)
    assert "tenants_a" in str(refused.value), "the message does not name both"
    assert "tenants_b" in str(refused.value), "the message does not name both"


@pytest.mark.slow
async def test_a_role_that_owns_nothing_runs_setup_on_what_is_there(bare_house, run):
    async with bare_house.saver() as saver:
        await saver.setup()
    name = f"app_{bare_house.planted.kept}"
    with role(bare_house, name):
        execute(
            bare_house,
            "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {name}",
        )
        await two_turns(bare_house, run)


@pytest.mark.slow
async def test_a_role_named_like_our_schema_finds_the_threads(house, run):
    """`"$user"` comes first on the default search_path, so that the role looks into the schema of its name."""
    await migrate(house.dsn)
    async with house.saver() as saver:
        await saver.setup()
        await run(chat(house, saver, house.answer("reone")), {"messages": [house.user("one")]}, house.config)
    before = schemas_with_tables(house)
    with psycopg.connect(house.dsn) as connection:
        (ours,) = connection.execute("SELECT current_user").fetchone() or ("",)
        schemas = [row[0] for row in connection.execute("SELECT nspname FROM pg_namespace WHERE nspname = 'discreet'")]
    assert schemas == ["discreet"], "our schema has another name now: this test is about that one"
    if ours == "discreet":  # the embedded server's own user has that name
        await goes_on(house, run)
    else:
        with role(house, "discreet"):
            grants = [f"GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO discreet" for schema in ("discreet", "public")]
            execute(house, "GRANT ALL ON SCHEMA discreet, public TO discreet", *grants)
            await goes_on(house, run)
    assert schemas_with_tables(house) == before, "there is a second set of tables"
    house.check()


async def goes_on(house: House, run: Callable[..., Any]) -> None:
    async with house.saver() as saver:
        await saver.setup()
        out = await run(chat(house, saver, house.answer("retwo")), {"messages": [house.user("two")]}, house.config)
    told = house.told(out["messages"])
    assert told == [("human", "one"), ("ai", "reone"), ("human", "two"), ("ai", "retwo")], (
        "the thread seems to have vanished"
    )


def test_both_constructors_of_both_savers_take_a_schema():
    from inspect import signature

    for saver in (RedactingSaver, RedactingSyncSaver):
        for made in (saver.from_conn_string, saver.from_pool):
            assert {"schema", "pause_seconds"} <= set(signature(made).parameters), made
