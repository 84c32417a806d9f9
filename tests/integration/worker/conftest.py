"""A worker over a real storage, with a provider that answers as it is told."""

from __future__ import annotations

import psycopg
import pytest
from testkit.conversations import ScriptedProvider

from discreet.ports import FixedSettings
from discreet.redaction import Redactor
from discreet.state.memory_settings import MemorySettings
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings
from discreet.worker import BatchProviders, Worker


@pytest.fixture
async def storage(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=256)) as opened:
        yield opened


@pytest.fixture
def provider():
    return ScriptedProvider()


@pytest.fixture
def make_worker(storage, provider, settings):
    """Return a function that makes workers over `storage`, which may have settings of their own."""

    def make(**values):
        used = values.pop("provider", provider)
        live = FixedSettings(MemorySettings(memory_extraction_provider="openai", **values.pop("live", {})))
        return Worker(
            storage.background,
            memory_settings=values.pop("memory_settings", live),
            providers=BatchProviders(settings, make=lambda _name, _model: used),
            redactor=Redactor(),
            **values,
        )

    return make


@pytest.fixture
def settings():
    from discreet.settings import Settings

    return Settings()


@pytest.fixture
def worker(make_worker):
    return make_worker()


@pytest.fixture
def rows(storage):
    """Return a function that returns what the database answers."""

    def read(query, *given):
        with psycopg.connect(storage.dsn) as connection:
            return connection.execute(query, given).fetchall()

    return read


@pytest.fixture
def run(storage):
    """Return a function that changes the database, as when time goes by."""

    def change(statement, *given):
        with psycopg.connect(storage.dsn, autocommit=True) as connection:
            connection.execute(statement, given)

    return change


@pytest.fixture
def later(run):
    """Return a function that lets all jobs and prompts be due."""

    def pass_time():
        run("UPDATE discreet.batch_jobs SET due_at = now() - interval '1 second'")
        run("UPDATE discreet.batch_requests SET due_at = now() - interval '1 second'")

    return pass_time
