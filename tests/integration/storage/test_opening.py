"""Finding, opening and losing a database."""

from __future__ import annotations

import asyncio
import logging
import sys

import psycopg
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from pydantic import SecretStr

from discreet.errors import ConfigurationError, StorageUnavailableError
from discreet.providers import from_langchain
from discreet.settings import Settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

STUB = StubEmbeddings(dims=64)
UNNAMED = Settings(_env_file=None, embedding_model=None)


def of_openai(dims):
    return from_langchain(DeterministicFakeEmbedding(size=dims), name="openai:text-embedding-3-small", dims=dims)


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


@pytest.mark.parametrize(("dims", "also"), [(512, ""), (1024, " and DISCREET_EMBEDDING_DIMS=1024")])
async def test_vectors_of_a_provider_are_not_given_up_because_nobody_names_it_any_more(database, dims, also):
    async with open_storage(database, settings=UNNAMED, embeddings=of_openai(dims)) as storage:
        await storage.memories.save("ann", [MemoryRecord(text="Keeps parrots")])
    with pytest.raises(
        ConfigurationError, match=f"DISCREET_EMBEDDING_MODEL=openai:text-embedding-3-small{also} to go on"
    ):
        async with open_storage(database, settings=UNNAMED):
            pass
    async with open_storage(database, settings=UNNAMED, embeddings=of_openai(dims)) as storage:
        assert len(await storage.memories.search("ann", "birds")) == 1
    named = UNNAMED.model_copy(update={"embedding_model": "none"})
    async with open_storage(database, settings=named) as storage:
        assert not storage.memories.semantic


async def test_what_is_in_force_is_one_line_without_secrets(database, caplog):
    caplog.set_level(logging.INFO, "discreet")
    password = "tops" + "ecret"
    address = f"http://ann:{password}@127.0.0.1:8000/v1"
    settings = Settings(
        _env_file=None,
        embedding_model="openai:any",
        openai_base_url=address,
        openai_api_key=SecretStr(password),
        chat_model="openai:small",
        turn_vault="memory",
    )
    async with open_storage(database, settings=settings):
        pass
    (line,) = [each for each in caplog.messages if each.startswith("storage.opened ")]
    told = dict(pair.split("=", 1) for pair in line.split()[1:])
    assert list(told) == [
        "embedding", "embedding_at", "chat", "summaries", "media", "extraction", "vault", "checkpoints", "log", "turns",
    ]  # fmt: skip
    assert (told["embedding"], told["embedding_at"]) == ("openai:any:512", "127.0.0.1:8000")
    assert (told["chat"], told["extraction"], told["vault"]) == ("openai:small", "offline:rules", "memory")
    assert password not in caplog.text
    assert "providers.key_not_used" not in caplog.text


async def test_a_key_that_no_setting_uses_is_told_of(database, caplog):
    caplog.set_level(logging.INFO, "discreet")
    async with open_storage(
        database, settings=Settings(_env_file=None, openai_api_key=SecretStr("k" * 40)), embeddings=STUB
    ):
        pass
    (line,) = [each for each in caplog.messages if each.startswith("providers.key_not_used ")]
    assert "keys=OPENAI_API_KEY" in line
    assert "DISCREET_CHAT_MODEL" in line
    assert "DISCREET_EMBEDDING_MODEL" in line
    assert "embedding_at=the_application" in caplog.text


async def test_without_the_local_model_memories_are_found_by_words_and_the_log_says_how_to_change_it(
    database, caplog, monkeypatch
):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    async with open_storage(database, settings=UNNAMED) as storage:
        assert not storage.memories.semantic
    (line,) = [each for each in caplog.messages if each.startswith("embedding.words_alone ")]
    assert "DISCREET_EMBEDDING_MODEL" in line


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
