"""A pool whose connections are all in use and a database that is down are told apart, and neither keeps who asks waiting."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from types import SimpleNamespace

import httpx
import pytest
from prometheus_client import REGISTRY

from discreet.api.app import make_app
from discreet.api.services import Services
from discreet.driver_errors import storage_errors
from discreet.errors import StorageBusyError, StorageUnavailableError
from discreet.redaction import Redactor
from discreet.settings import Settings
from discreet.state.memory_settings import MemorySettings
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings, TokenAuthenticator


@asynccontextmanager
async def served(dsn, settings=None):
    async with open_storage(dsn, settings=settings, embeddings=StubEmbeddings(dims=16)) as storage:
        services = Services(
            memories=storage.memories,
            log=storage.log,
            short_term=storage.short_term,
            memory_settings=SimpleNamespace(live=MemorySettings()),
            authenticator=TokenAuthenticator(),
            redactor=Redactor(),
            settings=Settings(_env_file=None),
            health=storage.health,
        )
        transport = httpx.ASGITransport(make_app(services))
        async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
            yield storage, client


PARTS = ("status", "database", "pool", "short_term")


async def health(client):
    answer = await client.get("/memory/health")
    return answer.status_code, {name: answer.json()[name] for name in PARTS}


async def becomes(client, expected):
    """Ask until the answer is as expected: what was found holds for a second."""
    async with asyncio.timeout(30):
        while await health(client) != expected:
            await asyncio.sleep(0.05)


WELL = dict.fromkeys(PARTS, "ok")


@pytest.mark.slow
async def test_a_pool_in_use_is_busy_and_the_database_is_well(database):
    async with served(database, Settings(pool_size=2)) as (storage, client), AsyncExitStack() as held:
        assert await health(client) == (200, WELL)
        for _ in range(2):
            await held.enter_async_context(storage.pool.connection())
        waiting = asyncio.create_task(storage.memories.latest("ann"))
        await becomes(client, (200, WELL | {"pool": "busy"}))
        await held.aclose()
        assert await waiting == []
        await becomes(client, (200, WELL))


@pytest.mark.slow
@pytest.mark.parametrize("in_use", [False, True])
@pytest.mark.direct("a relay before the server")
async def test_a_database_that_is_down_is_down_whether_or_not_its_pool_is_in_use(migrated_relay, in_use):
    async with served(migrated_relay.dsn, Settings(pool_size=1)) as (storage, client), AsyncExitStack() as held:
        if in_use:
            await held.enter_async_context(storage.pool.connection())
        migrated_relay.down()
        status, body = await health(client)
        assert (status, body["database"], body["pool"]) == (503, "down", "ok")


@pytest.mark.slow
async def test_busy_and_down_are_two_errors_and_two_counters(migrated_relay, monkeypatch):
    monkeypatch.setenv("DISCREET_MAX_WAITING", "0")

    def count(name, **labels):
        return REGISTRY.get_sample_value(name, labels) or 0

    async with open_storage(
        migrated_relay.dsn, settings=Settings(pool_size=1), embeddings=StubEmbeddings(dims=16)
    ) as storage:
        refused, down = (
            count("discreet_pool_refused_total"),
            count("discreet_storage_failures_total", code="storage_unavailable"),
        )
        async with storage.pool.connection():
            with pytest.raises(StorageBusyError):
                await storage.memories.latest("ann")
        assert count("discreet_pool_refused_total") > refused
        assert count("discreet_storage_failures_total", code="storage_unavailable") == down
        migrated_relay.down()
        with pytest.raises(StorageUnavailableError) as caught:
            await storage.memories.latest("ann")
        assert caught.value.code == "storage_unavailable"
        assert count("discreet_storage_failures_total", code="storage_unavailable") > down


async def test_who_holds_all_connections_and_waits_for_another_is_told(database):
    async with open_storage(database, settings=Settings(pool_size=1), embeddings=StubEmbeddings(dims=16)) as storage:
        storage.pool.timeout = 0.2
        async with storage.pool.connection():
            with pytest.raises(StorageBusyError), storage_errors():
                async with storage.pool.connection():
                    pass
        assert await storage.memories.latest("ann") == []
