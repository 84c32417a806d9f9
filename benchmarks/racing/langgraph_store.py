"""LangGraph's AsyncPostgresStore with its HNSW index, and langmem's tool over it. Vectors only: it has no word search."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any
from uuid import uuid4

from langgraph.store.base import PutOp
from langgraph.store.postgres import AsyncPostgresStore
from pgvector import Vector
from pgvector.psycopg import register_vector_async
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool
from racing.contestant import LIMIT, POOL_SIZE, without_index
from racing.people import Lookup, Person

SAME_FROM = 0.95
"""Cosine from which on a found memory counts as the one to be stored."""


class LangGraphStore:
    """`asearch` in the namespace ("memories", user)."""

    name = "AsyncPostgresStore"
    tables = "store"

    async def load(self, dsn: str, people: Sequence[Person], dims: int) -> None:
        """Fill in `people` as `aput` would."""
        async with _store(dsn, Lookup(dims)) as (store, pool):
            await store.setup()
            async with pool.connection() as connection, without_index(connection, "store_vectors_embedding_idx"):
                await register_vector_async(connection)
                for person in people:
                    await _copy(connection, person)

    @asynccontextmanager
    async def open(self, dsn: str, embeddings: Lookup) -> AsyncIterator[StoreRace]:
        """Open the store over a pool."""
        async with _store(dsn, embeddings) as (store, _):
            yield StoreRace(store)


class StoreRace:
    """The store with open connections."""

    def __init__(self, store: AsyncPostgresStore) -> None:
        self.store = store

    async def search(self, user_id: str, question: str) -> list[str]:
        """Search by meaning."""
        found = await self.store.asearch(("memories", user_id), query=question, limit=LIMIT)
        return [item.value["text"] for item in found]

    async def save(self, user_id: str, texts: Sequence[str]) -> None:
        """Put all in one batch."""
        await self.store.abatch([PutOp(("memories", user_id), str(uuid4()), {"text": text}) for text in texts])

    async def remember(self, user_id: str, text: str) -> None:
        """Search, then put under the key of what is the same, else under a new one."""
        found = await self.store.asearch(("memories", user_id), query=text, limit=LIMIT)
        same = [item.key for item in found if (item.score or 0) >= SAME_FROM]
        await self.store.aput(("memories", user_id), same[0] if same else str(uuid4()), {"text": text})

    async def count(self, user_id: str) -> int:
        """Count the items of the namespace."""
        return len(await self.store.asearch(("memories", user_id), limit=1_000))


class LangMem(LangGraphStore):
    """The search tool of langmem, over the same store."""

    name = "langmem's search tool"
    available = find_spec("langmem") is not None

    @asynccontextmanager
    async def open(self, dsn: str, embeddings: Lookup) -> AsyncIterator[StoreRace]:
        """Make the tool."""
        from langmem import create_search_memory_tool  # need not be installed

        async with _store(dsn, embeddings) as (store, _):
            yield _ToolRace(store, create_search_memory_tool(("memories", "{langgraph_user_id}"), store=store))


class _ToolRace(StoreRace):
    def __init__(self, store: AsyncPostgresStore, tool: Any) -> None:
        super().__init__(store)
        self._tool = tool

    async def search(self, user_id: str, question: str) -> list[str]:
        found = await self._tool.ainvoke(
            {"query": question, "limit": LIMIT}, config={"configurable": {"langgraph_user_id": user_id}}
        )
        return [found]  # one JSON text


@asynccontextmanager
async def _store(
    dsn: str, embeddings: Lookup
) -> AsyncIterator[tuple[AsyncPostgresStore, AsyncConnectionPool[AsyncConnection[DictRow]]]]:
    async with AsyncConnectionPool[AsyncConnection[DictRow]](
        dsn,
        min_size=POOL_SIZE,
        max_size=POOL_SIZE,
        kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
        open=False,
    ) as pool:
        await pool.wait()
        yield AsyncPostgresStore(pool, index={"dims": embeddings.dims, "embed": embeddings, "fields": ["text"]}), pool


async def _copy(connection: Any, person: Person) -> None:
    keys = [str(uuid4()) for _ in person.texts]
    prefix = f"memories.{person.user_id}"
    async with connection.cursor() as cursor:
        async with cursor.copy("COPY store (prefix, key, value) FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(("text", "text", "jsonb"))
            for key, text in zip(keys, person.texts, strict=True):
                await copy.write_row((prefix, key, Jsonb({"text": text})))
        async with cursor.copy(
            "COPY store_vectors (prefix, key, field_name, embedding) FROM STDIN (FORMAT BINARY)"
        ) as copy:
            copy.set_types(("text", "text", "text", "vector"))
            for key, vector in zip(keys, person.vectors, strict=True):
                await copy.write_row((prefix, key, "text", Vector(vector)))
