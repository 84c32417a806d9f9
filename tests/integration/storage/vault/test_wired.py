"""The vault that the settings name is that of an open storage, of its nodes, and of what is not open yet."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
import redis
from pydantic import SecretStr

from discreet.encryption import make_key, write_key
from discreet.errors import ConfigurationError, StorageUnavailableError
from discreet.redaction.vault import default_vault
from discreet.settings import Settings
from discreet.storage import open_storage, open_storage_sync
from discreet.storage.shared import SharedStorage
from discreet.testing import StubEmbeddings

STUB = StubEmbeddings(dims=16)


@pytest.fixture(params=["postgres", "redis"])
def chosen(request, database, monkeypatch):
    """Set the environment of a process, and return its settings."""
    monkeypatch.setenv("DISCREET_POSTGRES_DSN", database)
    monkeypatch.setenv("DISCREET_TURN_VAULT", request.param)
    monkeypatch.setenv("DISCREET_ENCRYPTION_KEYS", write_key(make_key()))
    if request.param == "redis":
        monkeypatch.setenv("DISCREET_REDIS_URL", request.getfixturevalue("redis_url"))
    return Settings()


def turns(settings):
    """Return how many turns lie in the chosen place."""
    if settings.turn_vault == "redis":
        with redis.Redis.from_url(settings.redis_url.get_secret_value()) as client:
            return len(client.keys("vault:*"))
    with psycopg.connect(settings.postgres_dsn.get_secret_value()) as connection:
        return connection.execute("SELECT count(*) FROM discreet.vault_turn").fetchone()[0]


async def test_two_storages_share_what_is_in_the_chosen_place(chosen):
    async with open_storage(embeddings=STUB) as here, open_storage(embeddings=STUB) as there:
        await here.vault.ahold("1", {"a": "ann"})
        assert await there.vault.avalues("1") == {"a": "ann"}
        assert turns(chosen) == 1
        assert default_vault().values("1") == {}
        await there.vault.adrop("1")
        assert turns(chosen) == 0


async def test_other_loops_and_threads_reach_the_vault_of_a_storage(chosen):
    async with open_storage(embeddings=STUB) as storage:
        await asyncio.to_thread(storage.vault.hold, "1", {"a": "ann"})
        on_another = await asyncio.to_thread(lambda: asyncio.run(storage.vault.avalues("1")))
        assert on_another == await asyncio.to_thread(storage.vault.values, "1") == {"a": "ann"}
        await asyncio.to_thread(storage.vault.drop, "1")
        assert await storage.vault.avalues("1") == {}
        with pytest.raises(ConfigurationError, match="await"):
            storage.vault.hold("1", {})


def test_a_program_without_a_loop_has_it_too(chosen):
    with open_storage_sync(embeddings=STUB) as storage:
        storage.vault.hold("1", {"a": "ann"})
        assert storage.vault.values("1") == {"a": "ann"}
        storage.vault.drop("1")
        assert storage.vault.values("1") == {}


async def test_nodes_hold_the_vault_of_a_server_before_anything_is_open(chosen):
    shared = SharedStorage(lambda: open_storage(embeddings=STUB))
    vault = shared.vault
    with pytest.raises(StorageUnavailableError):
        await vault.ahold("1", {"a": "ann"})
    async with shared.lease() as storage:
        await vault.ahold("1", {"a": "ann"})
        assert await asyncio.to_thread(vault.values, "1") == await storage.vault.avalues("1") == {"a": "ann"}
        await asyncio.to_thread(vault.hold, "1", {"b": "bob"})
        assert set(await vault.avalues("1")) == {"a", "b"}
        await asyncio.to_thread(vault.drop, "1")
        await vault.adrop("1")
        assert await storage.vault.avalues("1") == {}


async def test_in_memory_it_is_the_vault_of_the_process(database):
    async with open_storage(database, embeddings=STUB) as storage:
        assert storage.vault is SharedStorage().vault is default_vault()


async def test_a_shared_vault_without_keys_does_not_start(database):
    for setting in ({"turn_vault": "postgres"}, {"turn_vault": "redis", "redis_url": SecretStr("redis://127.0.0.1:1")}):
        with pytest.raises(ConfigurationError, match="discreet key"):
            async with open_storage(database, settings=Settings(**setting), embeddings=STUB):
                pass
