"""The three turn vaults behind one face for the conformance tests: with what moves their time forward."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import psycopg
import pytest
from kit.places import Places, redis_keys, rows
from testkit.redis_clusters import ON_CLUSTER, RedisPlace, redis_place

from discreet.ports import TurnVault
from discreet.redaction import InMemoryTurnVault
from discreet.storage.database.connecting.pool import make_pool
from discreet.storage.vault.postgres_vault import PostgresTurnVault
from discreet.storage.vault.redis_vault import RedisTurnVault
from discreet.testing import InMemoryKeys

MOVE = """
UPDATE discreet.vault_turn SET expires_at = (expires_at AT TIME ZONE 'UTC' - make_interval(secs => %s)) AT TIME ZONE 'UTC'
"""
"""By functions that a cluster lets an UPDATE use: they depend on nothing but what they are given."""
SHARED = ["postgres", "redis", ON_CLUSTER]


@dataclass(frozen=True)
class Place:
    """Where vaults are to be opened, and the keys of all of them."""

    name: str
    dsn: str
    redis: RedisPlace | None
    keys: InMemoryKeys


@dataclass
class Kept:
    """Two vaults over one place, as two processes have them, and the hands of a test on it."""

    vault: TurnVault
    other: TurnVault
    """The same as `vault` where there is one process only."""
    advance: Callable[[float], None]
    """Let so many seconds pass for all that is stored."""
    stored: Callable[[], Places]
    """Everything that lies there, as it lies there, keys too."""


@asynccontextmanager
async def in_memory(_place: Place, **bounds: int) -> AsyncIterator[Kept]:
    now = [1_000_000.0]

    def advance(seconds):
        now[0] += seconds

    most = {"max_chars": 4 * bounds["max_bytes"]} if bounds else {}
    vault = InMemoryTurnVault(clock=lambda: now[0], **most)
    yield Kept(vault, vault, advance, lambda: ())


@asynccontextmanager
async def in_postgres(place: Place, **bounds: int) -> AsyncIterator[Kept]:
    def advance(seconds):
        with psycopg.connect(place.dsn) as connection:
            connection.execute(MOVE, [seconds])

    async with make_pool(place.dsn, max_size=4) as pool, make_pool(place.dsn, max_size=4) as second:
        vaults = [PostgresTurnVault(each, keys=place.keys, **bounds) for each in (pool, second)]
        yield Kept(*vaults, advance, lambda: rows(place.dsn, only=("vault_turn", "vault_value")))


@asynccontextmanager
async def in_redis(place: Place, **bounds: int) -> AsyncIterator[Kept]:
    client = place.redis.tester()

    def advance(seconds):
        for key in client.scan_iter():
            left = client.pttl(key) - round(seconds * 1000)
            client.pexpire(key, left) if left > 0 else client.delete(key)

    vaults = [RedisTurnVault(place.redis.url, keys=place.keys, **bounds) for _ in range(2)]
    yield Kept(*vaults, advance, lambda: redis_keys(client))
    for vault in vaults:
        await vault.close()
    client.close()


VAULTS = {"memory": in_memory, "postgres": in_postgres, "redis": in_redis, "redis_cluster": in_redis}


@pytest.fixture(params=["memory", "postgres", "redis", ON_CLUSTER])
def place(request: pytest.FixtureRequest) -> Place:
    """Return a place for each of the vaults in turn, empty. A test for some of them names them by indirect parameters."""
    dsn = request.getfixturevalue("database") if request.param == "postgres" else ""
    return Place(request.param, dsn, redis_place(request), InMemoryKeys())


@pytest.fixture
async def kept(place: Place) -> AsyncIterator[Kept]:
    """Return vaults with the bounds that they have."""
    async with VAULTS[place.name](place) as kept:
        yield kept


@pytest.fixture
async def small(place: Place) -> AsyncIterator[Kept]:
    """Return vaults of which one turn holds 2,000 characters, or bytes."""
    async with VAULTS[place.name](place, max_bytes=2_000) as kept:
        yield kept
