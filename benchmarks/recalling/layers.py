"""Discreet, LangGraph's store and langmem's tools over it, as layers that keep memories and find them again."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version
from typing import Any, Protocol
from uuid import uuid4

from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp
from langgraph.store.postgres import AsyncPostgresStore
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from discreet.ports import EmbeddingProvider
from discreet.state.records import MemoryRecord
from discreet.storage import Storage, open_storage

LIMIT = 5
"""Memories that a search returns."""
OURS = "discreet"


class NotStartedError(Exception):
    """A layer does not start on this machine."""


class Layer(Protocol):
    """A layer whose connections are open."""

    async def save(self, user_id: str, texts: Sequence[str]) -> None:
        """Keep memories as they are, without a model that would extract them."""
        ...

    async def search(self, user_id: str, question: str) -> list[str]:
        """Return the texts of the best `LIMIT` memories, best first, whatever their score."""
        ...


class Opener(Protocol):
    """Opens a layer on an empty database."""

    def __call__(self, dsn: str, embeddings: EmbeddingProvider) -> AbstractAsyncContextManager[Layer]:
        """Return the layer, which is open until the end of the context."""
        ...


class Ours:
    """Hybrid search, with redaction as it ships."""

    def __init__(self, storage: Storage) -> None:
        self._memories = storage.memories
        self._texts: dict[str, str] = {}
        """By request id: a text that was redacted is not the one that was given."""

    async def save(self, user_id: str, texts: Sequence[str]) -> None:
        """Save facts."""
        records = [MemoryRecord(text=text, request_id=str(uuid4())) for text in texts]
        self._texts |= {str(record.request_id): text for record, text in zip(records, texts, strict=True)}
        await self._memories.save(user_id, records)

    async def search(self, user_id: str, question: str) -> list[str]:
        """Search by meaning and words."""
        found = await self._memories.search(user_id, question, limit=LIMIT, threshold=0.0)
        return [self._texts[str(hit.record.request_id)] for hit in found]


class ForLangGraph(Embeddings):
    """Our embedding in LangChain's interface; given as a function, a store would embed questions as memories."""

    def __init__(self, embeddings: EmbeddingProvider) -> None:
        self._embeddings = embeddings

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        return self._embeddings.embed_query(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of memories."""
        return self._embeddings.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        """Do what `embed_query` does."""
        return await self._embeddings.aembed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Do what `embed_documents` does."""
        return await self._embeddings.aembed_documents(texts)


class Store:
    """AsyncPostgresStore, which searches by meaning."""

    def __init__(self, store: AsyncPostgresStore) -> None:
        self.store = store

    async def save(self, user_id: str, texts: Sequence[str]) -> None:
        """Put all in one batch."""
        await self.store.abatch([PutOp(("memories", user_id), str(uuid4()), {"content": text}) for text in texts])

    async def search(self, user_id: str, question: str) -> list[str]:
        """Search by meaning."""
        found = await self.store.asearch(("memories", user_id), query=question, limit=LIMIT)
        return [item.value["content"] for item in found]


class LangMem(Store):
    """The search tool of langmem over a store of its own; saved is as its other tool saves."""

    def __init__(self, store: AsyncPostgresStore) -> None:
        from langmem import create_search_memory_tool  # need not be installed

        super().__init__(store)
        self._tool = create_search_memory_tool(("memories", "{langgraph_user_id}"), store=store)

    async def search(self, user_id: str, question: str) -> list[str]:
        """Call the tool."""
        config = {"configurable": {"langgraph_user_id": user_id}}
        found = await self._tool.ainvoke({"query": question, "limit": LIMIT}, config=config)
        return [item["value"]["content"] for item in json.loads(found)]


@asynccontextmanager
async def ours(dsn: str, embeddings: EmbeddingProvider) -> AsyncIterator[Layer]:
    """Open Discreet's storage."""
    async with open_storage(dsn, embeddings=embeddings) as storage:
        yield Ours(storage)


@asynccontextmanager
async def store(dsn: str, embeddings: EmbeddingProvider) -> AsyncIterator[Layer]:
    """Open LangGraph's store."""
    async with _store(dsn, embeddings) as opened:
        yield Store(opened)


@asynccontextmanager
async def langmem(dsn: str, embeddings: EmbeddingProvider) -> AsyncIterator[Layer]:
    """Open LangGraph's store with langmem's tool."""
    async with _store(dsn, embeddings) as opened:
        yield LangMem(opened)


@asynccontextmanager
async def _store(dsn: str, embeddings: EmbeddingProvider) -> AsyncIterator[AsyncPostgresStore]:
    options: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    async with AsyncConnectionPool(dsn, min_size=2, max_size=6, kwargs=options, open=False) as pool:
        await pool.wait()
        index = {"dims": embeddings.dims, "embed": ForLangGraph(embeddings), "fields": ["content"]}
        opened = AsyncPostgresStore(pool, index=index)
        await opened.setup()
        yield opened


def named(name: str, package: str) -> str:
    """Return the name of a peer with its version."""
    return f"{name} {version(package)}"
