"""What only the store in the database does: it outlives its process, and other processes see what it says."""

from __future__ import annotations

import asyncio
import logging

import psycopg
import pytest

from discreet.errors import SettingRefusedError, StorageUnavailableError
from discreet.state.memory_settings import MemorySettings
from discreet.storage.settings.postgres_settings import PostgresSettingsStore

PUT = "INSERT INTO discreet.setting (name, value, changed_at, changed_by) VALUES (%s, %s, now(), 'somebody')"


@pytest.fixture
def put(database):
    """Return what writes a value past every check, as another version may have."""

    def write(name, value):
        with psycopg.connect(database) as connection:
            connection.execute(PUT, (name, psycopg.types.json.Jsonb(value)))

    return write


@pytest.mark.slow
async def test_settings_outlive_the_process_and_reach_another_one(pool, postgres_store):
    other = PostgresSettingsStore(pool, environment=MemorySettings(memory_retrieve_limit=9))
    await postgres_store.change({"memory_retrieve_threshold": 0.25}, by="ann")
    assert other.live.memory_retrieve_threshold == 0.6
    await other.read()
    assert (other.live.memory_retrieve_threshold, other.live.memory_retrieve_limit) == (0.25, 9)


async def test_sixteen_processes_check_against_what_the_one_before_wrote(pool):
    """Each alone is valid over what it saw first; of two that contradict each other only one may come through."""
    stores = [PostgresSettingsStore(pool, environment=MemorySettings()) for _ in range(16)]
    halves = [{"memory_dedup_threshold": 0.94}, {"memory_update_threshold": 0.86}]
    outcomes = await asyncio.gather(
        *(store.change(halves[n % 2], by=f"admin-{n}") for n, store in enumerate(stores)), return_exceptions=True
    )
    assert {type(outcome) for outcome in outcomes} == {MemorySettings, SettingRefusedError}
    assert len(await stores[0].history(limit=1_000)) == 1
    settings = await stores[0].read()
    assert (settings.memory_dedup_threshold, settings.memory_update_threshold) in {(0.94, 0.95), (0.85, 0.86)}


async def test_what_was_told_stays_told(database, postgres_store):
    await postgres_store.change({"memory_retrieve_limit": 3}, by="ann")
    with psycopg.connect(database, autocommit=True) as connection:
        for statement in (
            "UPDATE discreet.setting_change SET changed_by = 'nobody'",
            "DELETE FROM discreet.setting_change",
            "TRUNCATE discreet.setting_change",
        ):
            with pytest.raises(psycopg.errors.RestrictViolation, match="only ever added to"):
                connection.execute(statement)
    assert [change.changed_by for _, change in await postgres_store.history()] == ["ann"]


async def test_what_another_version_wrote_is_left_out_and_left_alone(postgres_store, put, caplog):
    put("setting_of_a_later_version", [1])
    put("memory_retrieve_limit", 500)
    put("memory_retrieve_threshold", 0.3)
    with caplog.at_level(logging.WARNING, "discreet"):
        settings = await postgres_store.read()
        await postgres_store.read()
    assert (settings.memory_retrieve_limit, settings.memory_retrieve_threshold) == (7, 0.3)
    assert [record.message for record in caplog.records] == [
        "settings.left_out names=setting_of_a_later_version,memory_retrieve_limit"
    ]
    assert await postgres_store.overridden() == {"memory_retrieve_threshold"}
    await postgres_store.change({"memory_retrieve_limit": 8}, by="ann")
    assert await postgres_store.overridden() == {"memory_retrieve_threshold", "memory_retrieve_limit"}
    assert (await postgres_store.read()).memory_retrieve_limit == 8


async def test_thresholds_that_an_environment_contradicts_are_left_out_and_the_rest_holds(pool, put):
    put("memory_dedup_threshold", 0.9)
    put("memory_retrieve_limit", 3)
    store = PostgresSettingsStore(
        pool, environment=MemorySettings(memory_dedup_threshold=0.7, memory_update_threshold=0.8)
    )
    settings = await store.read()
    assert (settings.memory_dedup_threshold, settings.memory_update_threshold) == (0.7, 0.8)
    assert settings.memory_retrieve_limit == 3


@pytest.mark.slow
@pytest.mark.direct("a relay before the server")
async def test_a_database_that_is_down_leaves_what_was_seen_last(migrated_relay, open_pool):
    async with open_pool(migrated_relay.dsn) as pool:
        store = PostgresSettingsStore(pool, environment=MemorySettings())
        await store.change({"memory_retrieve_limit": 3}, by="ann")
        migrated_relay.down()
        with pytest.raises(StorageUnavailableError):
            await store.read()
        with pytest.raises(StorageUnavailableError):
            await store.change({"memory_retrieve_limit": 4}, by="ann")
        assert store.live.memory_retrieve_limit == 3
