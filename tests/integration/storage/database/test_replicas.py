"""Searches on a real standby that streams from the primary, and a storage that is opened on one."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from testkit.servers import copy_of

from discreet.errors import MigrationError, ReadOnlyServerError, StorageError
from discreet.settings import Settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.storage.database.connecting import reading
from discreet.testing import StubEmbeddings

pytestmark = pytest.mark.one_server("makes a standby of the tests' own server")

RECORD = MemoryRecord(text="Keeps two African Grey parrots")
LATER = MemoryRecord(text="Sold the parrots to a friend")


@pytest.fixture(scope="module")
def standby(server_dsn):
    """Return a standby of the tests' server."""
    with copy_of(server_dsn, follows=True) as made:
        yield made


def there(standby, dsn):
    """Return the DSN of the same database at the standby."""
    return psycopg.conninfo.make_conninfo(standby.dsn, dbname=psycopg.conninfo.conninfo_to_dict(dsn)["dbname"])


def opened(dsn, dims=64, **settings):
    return open_storage(dsn, settings=Settings(**settings), embeddings=StubEmbeddings(dims=dims))


async def texts(storage):
    return {hit.record.text for hit in await storage.memories.search("ann", "parrots")}


@pytest.mark.slow
async def test_searches_go_to_the_replica_and_the_rest_to_the_primary(database, standby):
    async with opened(database, postgres_read_dsn=there(standby, database)) as storage:
        await storage.memories.save("ann", [RECORD])
        standby.catch_up(database)
        assert await texts(storage) == {RECORD.text}
        with psycopg.connect(standby.dsn, autocommit=True) as connection:
            connection.execute("SELECT pg_wal_replay_pause()")
            await storage.memories.save("ann", [LATER])
            assert await texts(storage) == {RECORD.text}  # as old as the replica is behind
            assert {record.text for record in await storage.memories.latest("ann")} == {RECORD.text, LATER.text}
            connection.execute("SELECT pg_wal_replay_resume()")
        standby.catch_up(database)
        assert await texts(storage) == {RECORD.text, LATER.text}


@pytest.mark.slow
async def test_the_primary_stands_in_for_a_replica_that_is_gone_or_fails(database, migrated_relay, monkeypatch):
    monkeypatch.setattr(reading, "REST_SECONDS", 0)
    async with opened(database, postgres_read_dsn=migrated_relay.dsn) as storage:
        await storage.memories.save("ann", [RECORD])
        assert await texts(storage) == {RECORD.text}
        migrated_relay.down()
        for _ in range(2):
            assert await texts(storage) == {RECORD.text}
        migrated_relay.up()
    without_tables = make_conninfo(database, dbname="postgres")
    for unusable in (without_tables, make_conninfo(database, password="wrong")):
        async with opened(database, postgres_read_dsn=unusable) as storage:
            assert await texts(storage) == {RECORD.text}


@pytest.mark.slow
@pytest.mark.dialect
async def test_the_primary_stands_in_for_a_replica_that_hangs(database, migrated_relay, monkeypatch, caplog):
    async with opened(database, postgres_read_dsn=migrated_relay.dsn) as storage:
        await storage.memories.save("ann", [RECORD])
        assert await texts(storage) == {RECORD.text}
        monkeypatch.setattr(reading, "ANSWER_SECONDS", 0.3)
        migrated_relay.hang()
        async with asyncio.timeout(8):
            assert await texts(storage) == {RECORD.text}
            assert await texts(storage) == {RECORD.text}  # it is not asked again at once
        migrated_relay.down()
    assert caplog.text.count("read_from_primary cause=storage_timeout") == 1


@pytest.mark.slow
async def test_a_replica_that_was_promoted_is_searched_no_more(database, server_dsn, monkeypatch, caplog):
    monkeypatch.setattr(reading, "REST_SECONDS", 0)
    async with opened(database) as storage:
        await storage.memories.save("ann", [RECORD])
    with copy_of(server_dsn, follows=True) as made:
        made.catch_up(database)
        async with opened(database, postgres_read_dsn=there(made, database)) as storage:
            assert await texts(storage) == {RECORD.text}
            assert "read_from_primary" not in caplog.text
            with psycopg.connect(made.dsn, autocommit=True) as connection:
                assert connection.execute("SELECT pg_promote()").fetchone() == (True,)
            await storage.memories.save("ann", [LATER])
            assert await texts(storage) == {RECORD.text, LATER.text}
    assert "read_from_primary cause=promoted" in caplog.text


@pytest.mark.slow
async def test_a_storage_on_a_standby_searches_and_refuses_to_save(database, standby):
    async with opened(database) as storage:
        await storage.memories.save("ann", [RECORD])
    standby.catch_up(database)
    async with opened(there(standby, database)) as storage:
        assert await texts(storage) == {RECORD.text}
        [record] = await storage.memories.latest("ann")
        assert record.text == RECORD.text
        with pytest.raises(ReadOnlyServerError) as caught:
            await storage.memories.save("ann", [LATER])
        assert caught.value.code == "storage_read_only"
        with pytest.raises(ReadOnlyServerError):
            await storage.store.aput(("birds",), "parrot", {"text": "grey"})
        assert await storage.health.state() == "ok"


@pytest.mark.slow
@pytest.mark.dialect
async def test_what_a_standby_lacks_is_said(database, empty_database, standby):
    standby.catch_up(database)
    with pytest.raises(ReadOnlyServerError):
        async with opened(there(standby, database), dims=32):
            pass
    with pytest.raises((ReadOnlyServerError, MigrationError)) as caught:
        async with opened(there(standby, empty_database)):
            pass
    assert isinstance(caught.value, StorageError)
