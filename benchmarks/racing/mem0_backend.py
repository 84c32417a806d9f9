"""mem0's pgvector backend: the calls that one Memory.search and one Memory.add make of it, without mem0's models.

`Memory` itself can't be raced: it asks a language model on each add and loads spaCy on each search. What is timed is the
database's part alone, with the arguments that mem0/memory/main.py (2.2.1) gives.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any
from uuid import uuid4

from pgvector import Vector
from pgvector.psycopg import register_vector_async
from psycopg import AsyncConnection
from psycopg.types.json import Jsonb
from racing.contestant import LIMIT, POOL_SIZE, without_index
from racing.people import Lookup, Person

FOUND_BEFORE_ADD = 10
"""Memories that `Memory.add` looks at."""
SAME_FROM = 0.95
"""Cosine from which on a found memory counts as the one to be stored."""


class Mem0:
    """Vector search and keyword search, filtered by user."""

    name = "mem0's pgvector backend"
    tables = "mem0"
    available = find_spec("mem0") is not None

    async def load(self, dsn: str, people: Sequence[Person], dims: int) -> None:
        """Fill in `people` as `insert` would."""
        backend = _backend(dsn, dims)
        backend.list_cols()
        backend.create_col()
        backend.connection_pool.close()
        async with (
            await AsyncConnection.connect(dsn, autocommit=True) as connection,
            without_index(connection, "memories_hnsw_idx"),
        ):
            await register_vector_async(connection)
            async with connection.cursor() as cursor, cursor.copy("COPY memories FROM STDIN (FORMAT BINARY)") as copy:
                copy.set_types(("uuid", "vector", "jsonb"))
                for person in people:
                    for text, vector in zip(person.texts, person.vectors, strict=True):
                        await copy.write_row((uuid4(), Vector(vector), Jsonb(_payload(person.user_id, text))))

    @asynccontextmanager
    async def open(self, dsn: str, embeddings: Lookup) -> AsyncIterator[Mem0Race]:
        """Open the backend's own pool."""
        race = Mem0Race(_backend(dsn, embeddings.dims), embeddings)
        try:
            yield race
        finally:
            race.backend.connection_pool.close()


class Mem0Race:
    """The backend with open connections. It blocks; its callers wait one after the other, as one client does."""

    def __init__(self, backend: Any, embeddings: Lookup) -> None:
        self.backend = backend
        self._embeddings = embeddings

    async def search(self, user_id: str, question: str) -> list[str]:
        """Search by meaning and by words, without mem0's scoring of what is found."""
        found = self._found(user_id, question, max(LIMIT * 4, 60))
        if hasattr(self.backend, "keyword_search"):
            self.backend.keyword_search(query=question.lower(), top_k=max(LIMIT * 4, 60), filters={"user_id": user_id})
        return [memory.payload["data"] for memory in found[:LIMIT]]

    async def save(self, user_id: str, texts: Sequence[str]) -> None:
        """Insert all in one call."""
        self.backend.insert(
            vectors=self._embeddings.embed_documents(texts),
            ids=[str(uuid4()) for _ in texts],
            payloads=[_payload(user_id, text) for text in texts],
        )

    async def remember(self, user_id: str, text: str) -> None:
        """Search, and insert what is not there."""
        if not any(memory.score >= SAME_FROM for memory in self._found(user_id, text, FOUND_BEFORE_ADD)):
            await self.save(user_id, [text])

    async def count(self, user_id: str) -> int:
        """Count what the backend lists."""
        return len(self.backend.list(filters={"user_id": user_id}, top_k=1_000)[0])

    def _found(self, user_id: str, text: str, limit: int) -> list[Any]:
        vector = self._embeddings.embed_query(text)
        found: list[Any] = self.backend.search(query=text, vectors=vector, top_k=limit, filters={"user_id": user_id})
        return found


def _backend(dsn: str, dims: int) -> Any:
    os.environ["MEM0_TELEMETRY"] = "False"  # read when mem0 is imported
    from mem0.configs.vector_stores.pgvector import PGVectorConfig  # need not be installed
    from mem0.vector_stores.pgvector import PGVector

    config = PGVectorConfig(
        collection_name="memories",
        embedding_model_dims=dims,
        connection_string=dsn,
        minconn=POOL_SIZE,
        maxconn=POOL_SIZE,
    )
    return PGVector(**config.model_dump())


def _payload(user_id: str, text: str) -> dict[str, str]:
    return {
        "user_id": user_id,
        "data": text,
        "hash": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
        "created_at": datetime.now(UTC).isoformat(),
        "text_lemmatized": text.lower(),
    }
