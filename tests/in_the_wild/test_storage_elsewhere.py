"""The storage in a database whose schema is called otherwise, with pgvector out of sight, direct and behind PgBouncer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from urllib.parse import urlsplit

import psycopg
import pytest
from testkit import pooler

from discreet.settings import Settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.storage.database.connecting.target import target_of
from discreet.testing import InMemoryKeys, StubEmbeddings

SCHEMA = "Acme memory"
SETTINGS = {"DISCREET_SCHEMA": SCHEMA}


@pytest.fixture(params=["direct", "pooled"])
def apart(request: pytest.FixtureRequest, empty_database: str) -> Iterator[str]:
    """Return the DSN of a database that has pgvector in a schema that no search_path names."""
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA extensions")
        connection.execute("CREATE EXTENSION vector SCHEMA extensions")
    if request.param == "direct":
        yield empty_database
        return
    through = request.getfixturevalue("pgbouncer")
    yield urlsplit(through)._replace(path=urlsplit(empty_database).path).geturl()


@pytest.mark.slow
async def test_memories_and_items_from_an_empty_database(apart):
    settings = Settings(**SETTINGS)
    keys = InMemoryKeys()
    async with open_storage(apart, settings=settings, embeddings=StubEmbeddings(dims=64), keys=keys) as storage:
        await storage.memories.save("ann", [MemoryRecord(text="Keeps two African Grey parrots")])
        [hit] = await storage.memories.search("ann", "parrots")
        assert hit.record.text == "Keeps two African Grey parrots"
        await storage.store.aput(("birds",), "parrot", {"text": "grey"})
        [item] = await storage.store.asearch(("birds",), query="grey")
        assert [each.key for each in await storage.store.asearch(("birds",), filter={"text": "grey"})] == [
            "parrot"
        ]  # read by a server's cursor
        assert (item.key, await storage.store.alist_namespaces()) == ("parrot", [("birds",)])
        assert storage.pool.target == target_of(apart, settings)
    with psycopg.connect(apart, prepare_threshold=None) as connection:
        schemas = (
            "SELECT DISTINCT schemaname FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        )
        assert connection.execute(schemas).fetchall() == [(SCHEMA,)]


@pytest.mark.slow
async def test_what_is_prepared_and_set_on_direct_connections_only(apart, request):
    direct = request.node.callspec.params["apart"] == "direct"
    async with open_storage(apart, settings=Settings(**SETTINGS), embeddings=StubEmbeddings(dims=64)) as storage:
        names = [f"person-{number}" for number in range(12)]
        await asyncio.gather(*(storage.memories.save(name, [MemoryRecord(text="Keeps parrots")]) for name in names))
        await asyncio.gather(*(storage.memories.search(name, "parrots") for name in names))
        async with storage.pool.connection() as conn:
            assert conn.prepare_threshold == (0 if direct else None)
            cursor = await conn.execute("SELECT current_setting('plan_cache_mode') AS mode")
            assert await cursor.fetchone() == {"mode": "force_generic_plan" if direct else "auto"}
    with psycopg.connect(apart, autocommit=True, prepare_threshold=None) as connection:
        told = "SELECT name FROM pg_settings WHERE source = 'session' AND name IN ('search_path', 'plan_cache_mode', 'random_page_cost', 'max_parallel_workers_per_gather')"
        for _ in range(2 * pooler.SERVERS):
            assert connection.execute(told).fetchall() == []
            assert connection.execute("SELECT name FROM pg_prepared_statements").fetchall() == []


@pytest.mark.parametrize("name", ["", "pg_mine", 'a"b', "a'b", "a.b", "7up", "a%b", "x" * 64, "a\nb"])
def test_a_name_that_postgresql_or_a_statement_would_not_take_is_refused(name):
    with pytest.raises(ValueError, match="63 bytes"):
        Settings(DISCREET_SCHEMA=name)
