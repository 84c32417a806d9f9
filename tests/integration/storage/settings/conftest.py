"""The two settings stores behind one fixture for the conformance tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from discreet.ports import SettingsStore
from discreet.state.memory_settings import MemorySettings
from discreet.storage.database.connecting.pool import Pool, make_pool
from discreet.storage.settings.postgres_settings import PostgresSettingsStore
from discreet.testing import InMemorySettingsStore

ENVIRONMENT = MemorySettings(memory_retrieve_limit=7, embedding_provider="local")
"""What the environment says in these tests; the rest are defaults."""


@asynccontextmanager
async def opened_pool(dsn: str, *, max_size: int = 4) -> AsyncIterator[Pool]:
    """Yield an open pool."""
    pool = make_pool(dsn, max_size=max_size)
    await pool.open(wait=True)
    try:
        yield pool
    finally:
        await pool.close()


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    """Return a pool over a database without rows."""
    async with opened_pool(database) as opened:
        yield opened


@pytest.fixture
async def postgres_store(pool: Pool) -> PostgresSettingsStore:
    """Return the store in the database, with nothing set."""
    return PostgresSettingsStore(pool, environment=ENVIRONMENT)


@pytest.fixture(params=["memory", "postgres"])
def store(request: pytest.FixtureRequest) -> SettingsStore:
    """Return each store, with nothing set."""
    if request.param == "memory":
        return InMemorySettingsStore(ENVIRONMENT)
    found: PostgresSettingsStore = request.getfixturevalue("postgres_store")
    return found


@pytest.fixture
def open_pool() -> Callable[[str], AbstractAsyncContextManager[Pool]]:
    """Return what opens a pool over a DSN."""
    return opened_pool
