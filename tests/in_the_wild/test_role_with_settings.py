"""A role, a database and a schema that an administrator has made as they make all of theirs."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from testkit import pooler

from discreet.checkpoint import RedactingSaver
from discreet.errors import MigrationError, UnsupportedServerError
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


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
async def test_a_database_that_can_not_hold_what_people_write_is_refused(empty_database, encoding):
    name = f"{urlsplit(empty_database).path.lstrip('/')}_{encoding.lower()}"
    made = f"CREATE DATABASE {{name}} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0"
    administer(empty_database, made, name=name)
    try:
        with pytest.raises(UnsupportedServerError, match=f"{encoding}.*UTF8"):
            async with open_storage(urlsplit(empty_database)._replace(path=f"/{name}").geturl()):
                pass
    finally:
        administer(empty_database, "DROP DATABASE {name}", name=name)
