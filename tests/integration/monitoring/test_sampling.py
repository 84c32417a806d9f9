"""What maintenance looks at once a minute, on real servers."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from types import SimpleNamespace
from uuid import uuid4

import psycopg
import pytest
import redis
from prometheus_client import REGISTRY

from discreet.errors import StorageError
from discreet.ports import FixedSettings, Round
from discreet.settings import Settings
from discreet.state.memory_settings import MemorySettings
from discreet.storage import open_storage
from discreet.storage.background.ages import Ages
from discreet.storage.sampling import Sampling
from discreet.testing import StubEmbeddings


def gauge(name, **labels):
    return REGISTRY.get_sample_value(f"discreet_{name}", labels)


def sampling(storage, **changed):
    given = {
        "health": storage.health,
        "watch": storage.background.watch,
        "ages": Ages(storage.works_pool),
        "short_term": storage.short_term,
        "short_term_limit": 1_000_000,
        "memory_settings": FixedSettings(MemorySettings()),
    }
    return Sampling(**given | changed)


def opened(dsn, **settings):
    return open_storage(dsn, settings=Settings(**settings), embeddings=StubEmbeddings(dims=16), maintained=False)


@pytest.mark.slow
async def test_the_size_of_short_term_tables_grows_with_what_is_kept(database):
    async with opened(database) as storage:
        look = sampling(storage).sizes
        await look()
        before = gauge("short_term_bytes", store="postgres")
        for number in range(200):
            said = Round(
                request_id=str(number), input_text="Hello " * 200, output_text="Hi " * 200, said_at=datetime.now(UTC)
            )
            await storage.short_term.append_round("ann", str(uuid4()), said)
        await look()
    assert before > 0
    assert gauge("short_term_bytes", store="postgres") > before + 100_000
    assert gauge("short_term_limit_bytes", store="postgres") == 1_000_000


async def test_the_size_of_redis_is_its_own_and_its_limit_goes_first(database, redis_url):
    async with opened(database, redis_url=redis_url) as storage:
        await sampling(storage).sizes()
        assert gauge("short_term_bytes", store="redis") > 100_000
        assert gauge("short_term_limit_bytes", store="redis") == 1_000_000
        with redis.Redis.from_url(redis_url) as client:
            client.config_set("maxmemory", 200_000_000)
            try:
                await sampling(storage).sizes()
            finally:
                client.config_set("maxmemory", 0)
    assert gauge("short_term_limit_bytes", store="redis") == 200_000_000


@pytest.mark.slow
async def test_a_database_that_is_down_is_told_and_one_that_is_back_too(migrated_relay):
    async with opened(migrated_relay.dsn) as storage:
        look = sampling(storage).database
        await look()
        assert gauge("database_up", role="primary") == 1
        migrated_relay.down()
        with pytest.raises(StorageError):
            await look()
        assert gauge("database_up", role="primary") == 0
        migrated_relay.up()
        async with asyncio.timeout(30):  # the pool tries to connect after a pause
            while gauge("database_up", role="primary") == 0:
                with suppress(StorageError):
                    await look()
                await asyncio.sleep(0.1)


async def test_what_waits_is_told_by_its_age_and_who_is_at_it(database):
    given = {"user": uuid4(), "one": uuid4(), "two": uuid4(), "three": uuid4()}
    with psycopg.connect(database) as connection:
        for statement in (
            "INSERT INTO discreet.users (user_key) VALUES (%(user)s)",
            """
            INSERT INTO discreet.session_record
                (user_key, thread_key, thread_id, started_at, ended_at, rounds, app_name, pending_since)
            VALUES (%(user)s, %(one)s, 't', now(), now(), 1, 'default', now() - interval '2 hours')
            """,
            """
            INSERT INTO discreet.batch_jobs (job_key, provider, model, state, created_at, due_at, lease_until, done_at)
            VALUES (%(one)s, 'p', 'm', 'running', now(), now() - interval '1 hour', NULL, NULL),
                   (%(two)s, 'p', 'm', 'running', now(), now() - interval '3 hours', now() + interval '1 hour', NULL),
                   (%(three)s, 'p', 'm', 'completed', now(), now() - interval '9 hours', NULL, now())
            """,
            """
            INSERT INTO discreet.erasure (erasure_key, user_key, scope, asked_at, done_at, lease_until)
            VALUES (%(one)s, %(user)s, 'all', now() - interval '4 hours', NULL, now()),
                   (%(two)s, %(user)s, 'all', now() - interval '9 hours', now(), now())
            """,
        ):
            connection.execute(statement, given)
    async with opened(database) as storage:
        await storage.background.watch.seen(given["one"])
        await sampling(storage).works()
        waiting = {
            name: round(gauge(f"oldest_{name}_seconds") / 3600, 2) for name in ("pending_session", "due_job", "erasure")
        }
        assert waiting == {"pending_session": 2, "due_job": 1, "erasure": 4}
        assert (gauge("workers_alive"), gauge("batch_leases_held")) == (1, 1)
        states = {state: gauge("batch_jobs", state=state) for state in ("running", "completed", "failed")}
        assert states == {"running": 2, "completed": 1, "failed": 0}

        off = SimpleNamespace(live=MemorySettings(memory_extraction_enabled=False))
        await sampling(storage, memory_settings=off).works()
        assert gauge("oldest_pending_session_seconds") == 0  # nobody waits for what is turned off


@pytest.mark.slow
async def test_maintenance_samples_by_itself(database, monkeypatch):
    monkeypatch.setattr("discreet.storage.wiring.SWEEP_DELAY_SECONDS", 0)
    for name, labels in (("database_up", {"role": "primary"}), ("short_term_bytes", {"store": "postgres"})):
        REGISTRY._names_to_collectors[f"discreet_{name}"].remove(*labels.values())
        assert gauge(name, **labels) is None
    async with open_storage(database, embeddings=StubEmbeddings(dims=16)), asyncio.timeout(30):
        while None in {gauge("database_up", role="primary"), gauge("short_term_bytes", store="postgres")}:
            await asyncio.sleep(0.05)
