"""What settings of the database do in an open storage, also in one that another process opened."""

from __future__ import annotations

import asyncio
import json
import logging

import psycopg
import pytest
from testkit.scripts import ScriptProcess

from discreet.settings import Settings
from discreet.state.records import MemoryFilters, MemoryRecord
from discreet.storage import open_storage
from discreet.storage import opening as opening_module
from discreet.testing import StubEmbeddings

TOLD_LATER = "Lives in Hanoi near the lake"
MEANT = "Lives in Hanoi near the old lake"


@pytest.fixture
def quick(monkeypatch):
    """Let processes look ten times a second."""
    monkeypatch.setattr(opening_module, "POLL_SECONDS", 0.1)


@pytest.fixture
def settings(tmp_path):
    """Return what the environment says: no key, and nothing of a database."""
    return Settings(_env_file=None, data_dir=tmp_path, reembed=False)


async def seen(storage, name, value):
    async with asyncio.timeout(20):
        while getattr(storage.memory_settings.live, name) != value:  # another process says it
            await asyncio.sleep(0.02)


async def test_a_change_reaches_another_open_storage(database, quick, settings):
    embeddings = StubEmbeddings(dims=16)
    async with (
        open_storage(database, settings=settings, embeddings=embeddings) as here,
        open_storage(database, settings=settings, embeddings=embeddings) as there,
    ):
        await here.memory_settings.change({"memory_retrieve_limit": 9}, by="ann")
        assert here.memory_settings.live.memory_retrieve_limit == 9
        await seen(there, "memory_retrieve_limit", 9)
        await there.memory_settings.change({"memory_retrieve_limit": None}, by="bob")
        await seen(here, "memory_retrieve_limit", 5)


WATCHER = """
import asyncio, json, sys
from discreet.settings import Settings
from discreet.storage import open_storage, opening
from discreet.testing import StubEmbeddings

async def watch(dsn, folder):
    opening.POLL_SECONDS = 0.1
    settings = Settings(_env_file=None, data_dir=folder, reembed=False)
    async with open_storage(dsn, settings=settings, embeddings=StubEmbeddings(dims=16)) as storage:
        shown = None
        while shown is None or shown["memory_retrieve_limit"] != 11:
            live = storage.memory_settings.live.model_dump()
            if live != shown:
                shown = live
                print(json.dumps(live), flush=True)
            await asyncio.sleep(0.02)
        await storage.memory_settings.change({"memory_retrieve_limit": 12}, by="watcher")

asyncio.run(watch(*sys.argv[1:]))
"""


@pytest.mark.slow
async def test_a_change_reaches_another_process_and_one_of_its_own_comes_back(database, quick, settings, tmp_path):
    async with open_storage(database, settings=settings, embeddings=StubEmbeddings(dims=16)) as here:
        with ScriptProcess(WATCHER, database, tmp_path) as watcher:
            async with asyncio.timeout(60):
                first = json.loads(await asyncio.to_thread(watcher.stdout.readline))
                await here.memory_settings.change({"memory_retrieve_limit": 11}, by="ann")
                second = json.loads(await asyncio.to_thread(watcher.stdout.readline))
                assert await asyncio.to_thread(watcher.wait) == 0
        assert (first["memory_retrieve_limit"], second["memory_retrieve_limit"]) == (5, 11)
        await seen(here, "memory_retrieve_limit", 12)


@pytest.mark.slow
async def test_a_look_that_fails_is_followed_by_another(migrated_relay, quick, settings, caplog):
    embeddings = StubEmbeddings(dims=16)
    async with open_storage(migrated_relay.dsn, settings=settings, embeddings=embeddings) as storage:
        await storage.memory_settings.change({"memory_retrieve_limit": 9}, by="ann")
        with caplog.at_level(logging.WARNING, "discreet"):
            migrated_relay.down()
            async with asyncio.timeout(30):
                while "cause=storage_unavailable" not in caplog.text:
                    await asyncio.sleep(0.02)
        assert storage.memory_settings.live.memory_retrieve_limit == 9
        migrated_relay.up()
        direct = "UPDATE discreet.setting SET value = '4' WHERE name = 'memory_retrieve_limit'"
        with psycopg.connect(migrated_relay.dsn) as connection:
            connection.execute(direct)
        await seen(storage, "memory_retrieve_limit", 4)


async def current(storage):
    now = [record for record in await storage.memories.latest("ann") if record.valid_to is None]
    return sorted(record.text for record in now)


async def test_each_save_goes_by_the_thresholds_that_hold_then(database, settings):
    """Two wordings of one fact: above the threshold the later one supersedes the first, below both stay."""
    embeddings = StubEmbeddings(dims=256)
    async with open_storage(database, settings=settings, embeddings=embeddings) as storage:
        change = storage.memory_settings.change
        await change({"memory_dedup_threshold": 1.0, "memory_update_threshold": 1.0}, by="ann")
        await storage.memories.save("ann", [MemoryRecord(text=TOLD_LATER)])
        await storage.memories.save("ann", [MemoryRecord(text=MEANT)])
        assert await current(storage) == [TOLD_LATER, MEANT]
        await storage.memories.delete_many("ann", MemoryFilters())
        await change({"memory_dedup_threshold": 0.1, "memory_update_threshold": 1.0}, by="ann")
        await storage.memories.save("ann", [MemoryRecord(text=TOLD_LATER)])
        await storage.memories.save("ann", [MemoryRecord(text=MEANT)])
        assert await current(storage) == [MEANT]


@pytest.mark.dialect
async def test_each_save_goes_by_the_limit_that_holds_then(database, settings):
    async with open_storage(database, settings=settings, embeddings=StubEmbeddings(dims=256)) as storage:
        facts = ["Keeps bees", "Plays the cello", "Rows on Sundays", "Speaks Thai", "Paints doors"]
        await storage.memories.save("ann", [MemoryRecord(text=text) for text in facts])
        assert len(await current(storage)) == 5
        await storage.memory_settings.change({"max_memories_per_user": 2}, by="ann")
        await storage.memories.save("ann", [MemoryRecord(text="Collects stamps")])
        assert len(await current(storage)) == 2


@pytest.mark.slow
async def test_the_embedding_model_of_the_database_goes_before_the_environments(database, settings):
    async with open_storage(database, settings=settings.model_copy(update={"embedding_model": "none"})) as storage:
        assert not storage.memories.semantic
        await storage.memory_settings.change({"embedding_provider": "local"}, by="ann")
        assert not storage.memories.semantic, "it takes effect with the next start"
    async with open_storage(database, settings=settings.model_copy(update={"embedding_model": "none"})) as storage:
        assert storage.memories.semantic
    async with open_storage(database, settings=settings, embeddings=StubEmbeddings(dims=16)) as storage:
        (record,) = await storage.memories.save("ann", [MemoryRecord(text="Keeps bees")])
        assert await storage.memories.get("ann", record.entry_id) == record


@pytest.mark.parametrize(
    "changes",
    [
        {"embedding_provider": "openai", "embedding_model": "text-embedding-3-large"},  # there is no key
        {"embedding_provider": "nobody"},
    ],
)
async def test_a_model_that_cannot_be_made_does_not_keep_a_server_from_starting(database, settings, changes, caplog):
    words = settings.model_copy(update={"embedding_model": "none"})
    async with open_storage(database, settings=words) as storage:
        await storage.memory_settings.change(changes, by="ann")
    with caplog.at_level(logging.WARNING, "discreet"):
        async with open_storage(database, settings=words) as storage:
            assert not storage.memories.semantic
    assert "settings.embedding_model_not_made cause=configuration" in caplog.text
