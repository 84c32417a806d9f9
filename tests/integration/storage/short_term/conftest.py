"""The three short-term stores behind one face for the conformance tests: with what moves their time forward."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import psycopg
import pytest
from kit.places import Places, log, redis_keys, rows
from testkit.redis_clusters import ON_CLUSTER, RedisPlace, redis_place

from discreet.ports import ShortTermStore
from discreet.redaction import Redactor
from discreet.settings import Settings
from discreet.storage import open_storage
from discreet.storage.database.connecting.pool import Pool
from discreet.testing import InMemoryKeys, InMemoryShortTermStore, StubEmbeddings


def _moved(*columns: str) -> str:
    """Take `by` from times, by functions that a cluster lets an UPDATE use: they depend on nothing but what they are given."""
    return ", ".join(f"{each} = ({each} AT TIME ZONE 'UTC' - %(by)s) AT TIME ZONE 'UTC'" for each in columns)


@dataclass(frozen=True)
class Place:
    """Where a store is to be opened."""

    name: str
    dsn: str
    redis: RedisPlace | None = None

    @property
    def url(self) -> str:
        """Of Redis; empty where there is none."""
        return self.redis.url if self.redis else ""


MOVE_SESSIONS = f"UPDATE discreet.short_term_session SET {_moved('active_until', 'expires_at', 'purge_at')}"
MOVE_WORKS = f"UPDATE discreet.short_term_work SET {_moved('expires_at', 'purge_at')}"


@dataclass
class Kept:
    """A store, and the hands of a test on it."""

    store: ShortTermStore
    advance: Callable[[float], None]
    """Let so many seconds pass for all that is stored."""
    stored: Callable[[], Places]
    """Everything that lies in the store, as it lies there, keys too."""
    keys: InMemoryKeys | None = None
    pool: Pool | None = None
    works_pool: Pool | None = None


@asynccontextmanager
async def in_memory(_place: Place, _keys: InMemoryKeys | None) -> AsyncIterator[Kept]:
    now = [1_000_000.0]
    store = InMemoryShortTermStore(clock=lambda: now[0])

    def advance(seconds):
        now[0] += seconds

    yield Kept(store, advance, lambda: log("memory", repr((store._sessions, store._works))))


@asynccontextmanager
async def in_postgres(place: Place, keys: InMemoryKeys | None) -> AsyncIterator[Kept]:
    dsn = place.dsn

    def advance(seconds):
        with psycopg.connect(dsn) as connection:
            for move in (MOVE_SESSIONS, MOVE_WORKS):
                connection.execute(move.replace("%(by)s", f"interval '{seconds} seconds'"))

    def stored():
        return rows(dsn, only={f"short_term_{table}" for table in ("session", "round", "work")}, may_be_empty=True)

    opened = open_storage(dsn, embeddings=StubEmbeddings(dims=16), redactor=Redactor(), keys=keys, maintained=False)
    async with opened as storage:
        yield Kept(storage.short_term, advance, stored, pool=storage.pool, works_pool=storage.works_pool)


@asynccontextmanager
async def in_redis(place: Place, keys: InMemoryKeys | None) -> AsyncIterator[Kept]:
    client = place.redis.tester()

    def advance(seconds):
        for key in client.scan_iter():
            left = client.pttl(key) - round(seconds * 1000)
            if client.type(key) == b"hash":
                client.hincrby(key, "until", -round(seconds * 1000))
            client.pexpire(key, left) if left > 0 else client.delete(key)

    settings = Settings(redis_url=place.url)
    opened = open_storage(
        place.dsn, settings=settings, embeddings=StubEmbeddings(dims=16), redactor=Redactor(), keys=keys
    )
    async with opened as storage:
        yield Kept(storage.short_term, advance, lambda: redis_keys(client, may_be_empty=True))
    client.close()


STORES = {"memory": in_memory, "postgres": in_postgres, "redis": in_redis, "redis_cluster": in_redis}


@pytest.fixture(params=["memory", "postgres", "redis", ON_CLUSTER])
def place(request: pytest.FixtureRequest) -> Place:
    """Return a place for each of the stores in turn, empty. A test for some of them names them by indirect parameters."""
    dsn = "" if request.param == "memory" else request.getfixturevalue("database")
    return Place(request.param, dsn, redis_place(request))


@pytest.fixture
async def kept(place: Place) -> AsyncIterator[Kept]:
    """Return a store without a key."""
    async with STORES[place.name](place, None) as kept:
        yield kept


@pytest.fixture
def store(kept: Kept) -> ShortTermStore:
    """Return the store of `kept`."""
    return kept.store


@pytest.fixture
async def sealed(place: Place) -> AsyncIterator[Kept]:
    """Return a store with a key."""
    keys = InMemoryKeys()
    async with STORES[place.name](place, keys) as kept:
        kept.keys = keys
        yield kept
