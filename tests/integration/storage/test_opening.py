"""Finding, opening and losing a database."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from pydantic import SecretStr

from discreet.errors import ConfigurationError, StorageUnavailableError
from discreet.settings import Settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

STUB = StubEmbeddings(dims=64)


async def test_the_argument_comes_before_the_settings(database):
    settings = Settings(postgres_dsn=SecretStr("postgresql://127.0.0.1:1/none"))
    async with open_storage(database, settings=settings, embeddings=STUB) as storage:
        assert storage.dsn == database


async def test_the_settings_come_before_the_embedded_server(database):
    async with open_storage(settings=Settings(postgres_dsn=SecretStr(database)), embeddings=STUB) as storage:
        assert storage.dsn == database


@pytest.mark.slow
async def test_without_a_dsn_the_embedded_server_is_used_and_keeps_its_data(tmp_path):
    settings = Settings(data_dir=tmp_path / "data")
    async with open_storage(settings=settings, embeddings=STUB) as storage:
        await storage.memories.save("ann", [MemoryRecord(text="Keeps parrots")])
    async with open_storage(settings=settings, embeddings=STUB) as storage:
        assert len(await storage.memories.search("ann", "parrots")) == 1


async def test_first_starts_at_once_all_succeed(empty_database):
    async def start(number):
        async with open_storage(empty_database, embeddings=STUB) as storage:
            await storage.memories.save("ann", [MemoryRecord(text=f"Fact {number}")])
            return len(await storage.memories.search("ann", "fact", limit=50))

    assert max(await asyncio.gather(*(start(number) for number in range(8)))) == 8


async def test_an_opened_storage_shows_no_password(database):
    async with open_storage(database, embeddings=STUB) as storage:
        assert database not in repr(storage)


async def test_a_server_that_is_not_there_is_unavailable_and_the_password_is_not_shown():
    password = "tops" + "ecret"
    with pytest.raises(StorageUnavailableError) as caught:
        async with open_storage(f"postgresql://ann:{password}@127.0.0.1:1/none", embeddings=STUB):
            pass
    assert password not in f"{caught.value!r} {caught.value.__cause__!r}"


async def test_a_dsn_that_cannot_be_read_is_refused_and_not_shown():
    broken = "host=localhost password=tops" + "ecret nonsense"
    with pytest.raises(ConfigurationError) as caught:
        async with open_storage(broken, embeddings=STUB):
            pass
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__


async def test_a_closed_storage_is_unavailable(database):
    async with open_storage(database, embeddings=STUB) as storage:
        pass
    with pytest.raises(StorageUnavailableError):
        await storage.memories.save("ann", [MemoryRecord(text="x")])
    with pytest.raises(StorageUnavailableError):
        await storage.memories.search("ann", "x")


async def test_a_connection_that_the_server_closed_is_replaced_before_use(database):
    async with open_storage(database, embeddings=STUB) as storage:
        await storage.memories.search("ann", "x")
        with psycopg.connect(database, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        await asyncio.sleep(0.1)
        assert await storage.memories.search("ann", "x") == []


@pytest.mark.dialect
async def test_langgraphs_saver_works_on_the_pool(database):
    async with open_storage(database, embeddings=STUB) as storage:
        saver = AsyncPostgresSaver(storage.pool)
        await saver.setup()
        config = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        stored = await saver.aput(config, empty_checkpoint(), {}, {})
        assert (await saver.aget_tuple(stored)).config == stored


@pytest.mark.dialect
@pytest.mark.one_server("makes pgvector, which the nodes have")
@pytest.mark.direct("has pgvector elsewhere already")
async def test_pgvector_in_a_schema_of_its_own_works(empty_database):
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA extensions")
        connection.execute("CREATE EXTENSION vector SCHEMA extensions")
    async with open_storage(empty_database, embeddings=STUB) as storage:
        await storage.memories.save("ann", [MemoryRecord(text="Keeps parrots")])
        assert len(await storage.memories.search("ann", "parrots")) == 1
