"""What every contestant can do, and how any of them is brought into shape before it is measured."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

import psycopg
from racing.people import Lookup, Person

POOL_SIZE = 8
"""Connections of each contestant."""
LIMIT = 5
"""Memories that a search returns."""

BUILD_MEMORY = "SET maintenance_work_mem = '2GB'"
"""An HNSW index that doesn't fit into this is built many times slower."""


class Race(Protocol):
    """A contestant whose connections are open."""

    async def search(self, user_id: str, question: str) -> list[str]:
        """Return the texts of the best `LIMIT` memories."""
        ...

    async def save(self, user_id: str, texts: Sequence[str]) -> None:
        """Store new memories in one call."""
        ...

    async def remember(self, user_id: str, text: str) -> None:
        """Store a memory unless it is there already."""
        ...

    async def count(self, user_id: str) -> int:
        """Return how many memories there are of a user."""
        ...


class Contestant(Protocol):
    """One way to keep memories in PostgreSQL."""

    name: str
    """As the report calls it."""
    tables: str
    """Contestants with the same word here share a database."""

    async def load(self, dsn: str, people: Sequence[Person], dims: int) -> None:
        """Make the tables if need be and fill in `people` by COPY, indexes included."""
        ...

    def open(self, dsn: str, embeddings: Lookup) -> AbstractAsyncContextManager[Race]:
        """Open `POOL_SIZE` connections."""
        ...


async def settle(dsn: str) -> None:
    """Leave nothing to autovacuum or the checkpointer that would run during a measurement."""
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        await connection.execute("VACUUM ANALYZE")
        await connection.execute("CHECKPOINT")


@asynccontextmanager
async def without_index(connection: psycopg.AsyncConnection[Any], name: str) -> AsyncIterator[None]:
    """Drop index `name` and build it again at the end, which is quicker than filling it row by row."""
    cursor = await connection.execute("SELECT pg_get_indexdef(to_regclass(%s)) AS definition", (name,))
    row = await cursor.fetchone()
    assert row is not None
    [definition] = row.values() if isinstance(row, dict) else row
    await connection.execute(f"DROP INDEX {name}")
    yield
    await connection.execute(BUILD_MEMORY)
    await connection.execute(definition)
