import asyncio

import psycopg
import pytest

from discreet import locks
from discreet.errors import MigrationError


@pytest.fixture
def holder(database):
    """Another process's session, which holds the lock."""
    with psycopg.connect(database, autocommit=True) as connection, locks.sync_setup_lock(connection):
        yield connection


async def test_a_lock_that_is_never_freed_is_named_after_a_while(holder, database, monkeypatch):
    monkeypatch.setattr(locks, "TIMEOUT_SECONDS", 0.1)
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        with pytest.raises(MigrationError, match="pg_stat_activity"):
            async with locks.setup_lock(connection):
                pytest.fail("two hold the lock")


async def test_it_is_free_again_after_an_error(database):
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        with pytest.raises(ZeroDivisionError):
            async with locks.setup_lock(connection):
                raise ZeroDivisionError
    other = await psycopg.AsyncConnection.connect(database, autocommit=True)
    async with other, asyncio.timeout(5), locks.setup_lock(other):
        pass
