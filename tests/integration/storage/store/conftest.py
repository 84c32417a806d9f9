"""LangGraph's Postgres store and ours, made alike."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager

import psycopg
import pytest
from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore, TTLConfig
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg.conninfo import make_conninfo

from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

DIMS = 512
TABLES = {"langgraph": "store", "discreet": "discreet.store_item"}
MakeStore = Callable[..., Awaitable[BaseStore]]


class LangChainStub(StubEmbeddings, Embeddings):
    """The same vectors for LangGraph's store, which takes LangChain's interface."""


@pytest.fixture(scope="session")
def shared_database(make_database: Callable[..., AbstractContextManager[str]], migrated_template: str) -> Iterator[str]:
    """Return the DSN of a database with the tables of both stores, which these tests share: they are many and short."""
    with make_database(template=migrated_template) as dsn:
        asyncio.run(_make_langgraph_tables(dsn))
        yield dsn


@pytest.fixture
def database(shared_database: str) -> str:
    """Return the DSN of that database without rows."""
    with psycopg.connect(shared_database, autocommit=True) as connection:
        connection.execute("DELETE FROM store")
        connection.execute("DELETE FROM discreet.users")
        connection.execute("DELETE FROM discreet.store_namespace")
        connection.execute("DELETE FROM discreet.token_frequency")
        connection.execute("UPDATE discreet.corpus SET documents = 0, counted_at = 'epoch'")
    return shared_database


@pytest.fixture(params=["langgraph", "discreet"])
def kind(request) -> str:
    """Return whose store is tested."""
    return request.param


@pytest.fixture
async def make_store(kind: str, database: str) -> AsyncIterator[MakeStore]:
    """Return a function that opens a store of `kind`, with default paths of texts and a configuration of expiry."""
    opened = {"langgraph": _langgraph_store, "discreet": _discreet_store}[kind]
    async with AsyncExitStack() as stack:

        async def make(*, fields: list[str] | None = None, ttl: TTLConfig | None = None) -> BaseStore:
            return await stack.enter_async_context(opened(database, fields, ttl))

        yield make


@pytest.fixture
async def store(make_store: MakeStore) -> BaseStore:
    """Return an empty store."""
    return await make_store()


@pytest.fixture
def time_passes(kind: str, database: str) -> Callable[[float], None]:
    """Return a function that lets minutes pass for all items that expire."""

    def pass_minutes(minutes: float) -> None:
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(
                f"UPDATE {TABLES[kind]} SET expires_at = (expires_at AT TIME ZONE 'UTC' - make_interval(secs => "
                f"{60 * minutes})) AT TIME ZONE 'UTC'"  # a cluster refuses what depends on the session's time zone
            )

    return pass_minutes


@pytest.fixture
def stored_items(kind: str, database: str) -> Callable[[], int]:
    """Return a function that counts the rows of items, expired or not."""

    def count() -> int:
        with psycopg.connect(database) as connection:
            [rows] = connection.execute(f"SELECT count(*) FROM {TABLES[kind]}").fetchone()
        return rows

    return count


async def _make_langgraph_tables(dsn):
    finds_vector = make_conninfo(dsn, options="-c search_path=public,extensions")  # see testkit.elsewhere
    async with _langgraph_store(finds_vector, None, None) as opened:
        await opened.setup()


def _langgraph_store(dsn, fields, ttl):
    return AsyncPostgresStore.from_conn_string(
        dsn,
        index={"dims": DIMS, "embed": LangChainStub(DIMS), "fields": fields},
        ttl={**(ttl or {}), "omit_expired": True},
        pool_config={"max_size": 4},
    )


@asynccontextmanager
async def _discreet_store(dsn, fields, ttl):
    async with open_storage(dsn, embeddings=StubEmbeddings(DIMS), maintained=False) as storage:
        yield storage.store.configured(fields=fields or ["$"], ttl=ttl)
