"""Long-term memory in PostgreSQL: save, search and delete, each scoped to one person."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, LiteralString
from uuid import UUID

from pgvector import HalfVector

from discreet.driver_errors import storage_errors
from discreet.errors import ProviderError, StorageError
from discreet.metrics import memories_saved
from discreet.ports import EmbeddingProvider, TextRedactor
from discreet.retrieval.fusion import Fusion
from discreet.retrieval.lexical import Impacts, read_question
from discreet.state.context import check_user_id
from discreet.state.records import MemoryFilters, MemoryRecord, ScoredMemory
from discreet.state.text import storable
from discreet.storage.frequencies import count_documents
from discreet.storage.memory_rows import record_from
from discreet.storage.neighbours import refresh_words
from discreet.storage.pool import Pool
from discreet.storage.redacting import redacted_filters, redacted_record
from discreet.storage.saving import lock_person, write_records
from discreet.storage.search_sql import Search, build_search
from discreet.storage.spaces import EmbeddingSpace

logger = logging.getLogger(__name__)

MAX_QUERY_CHARS = 2_000
"""How much of a question is searched for. Longer ones are pasted documents, known by how they begin."""

_DELETE: LiteralString = """
DELETE FROM discreet.memory m
USING discreet.person p
WHERE p.user_id = %(user_id)s AND m.user_key = p.user_key AND m.entry_id = %(entry_id)s
RETURNING m.user_key, m.thread_id, m.position
"""


class PostgresMemories:
    """The `Memories` port over PostgreSQL and pgvector."""

    def __init__(
        self,
        pool: Pool,
        *,
        embeddings: EmbeddingProvider,
        space: EmbeddingSpace,
        redactor: TextRedactor,
        fusion: Fusion = "convex",
    ) -> None:
        """Use `pool`, whose owner closes it. `space` is that of `embeddings`."""
        self._pool = pool
        self._embeddings = embeddings
        self._space = space
        self._redactor = redactor
        self._fusion: Fusion = fusion

    async def save(self, user_id: str, records: Sequence[MemoryRecord]) -> list[MemoryRecord]:
        """Redact, embed and store `records` in one transaction; return them as stored, in their order.

        A turn replaces the turn at its thread and position, a known entry_id its record, and a fact that is stored
        already (same text, type and application) is refreshed: what comes back then has the stored entry_id.

        Raises:
            InvalidUserError: `user_id` can't be used.
            ProviderError: The embedding model failed; nothing was stored.
            StorageError: Nothing was stored.
        """
        user_id = check_user_id(user_id)
        if not records:
            return []
        redacted = await asyncio.to_thread(lambda: [redacted_record(record, self._redactor) for record in records])
        vectors = await self._embeddings.aembed_documents([record.text for record in redacted])
        for vector in vectors:
            self._check_dims(vector)
        with storage_errors():
            async with self._pool.connection() as conn, conn.transaction(), conn.cursor(binary=True) as cursor:
                await lock_person(cursor, user_id)
                written = await write_records(cursor, user_id, redacted, vectors, space_key=self._space.key)
        for record in redacted:
            memories_saved.labels(type=record.type).inc()
        await self._count(written.new)
        return written.stored

    async def search(
        self,
        user_id: str,
        query: str,
        *,
        limit: int = 5,
        threshold: float | None = None,
        filters: MemoryFilters | None = None,
    ) -> list[ScoredMemory]:
        """Return at most `limit` current memories of `user_id`, best first. A blank query finds nothing.

        `threshold` applies to the calibrated similarity; a memory that shares a word with the query is exempt.

        Raises:
            InvalidUserError: `user_id` can't be used.
            ProviderError: The embedding model failed.
            StorageError: The database failed.
        """
        user_id = check_user_id(user_id)
        query = self._redactor.redact(storable(query[:MAX_QUERY_CHARS]))
        if not query.strip() or limit < 1:
            return []
        vector = await self._embeddings.aembed_query(query)
        search = self.plan(user_id, query, vector, limit=limit, threshold=threshold, filters=filters)
        with storage_errors():
            async with self._pool.connection() as conn, conn.cursor(binary=True) as cursor:
                await cursor.execute(search.statement, search.parameters)
                rows = await cursor.fetchall()
        return [self._scored(row) for row in rows]

    def plan(
        self,
        user_id: str,
        query: str,
        vector: list[float],
        *,
        limit: int,
        threshold: float | None = None,
        filters: MemoryFilters | None = None,
    ) -> Search:
        """Return the statement that `search` runs for `query`, whose embedding is `vector`."""
        self._check_dims(vector)
        question = read_question(query)
        return build_search(
            {
                "user_id": user_id,
                "space_key": self._space.key,
                "embedding": HalfVector(vector),
                "tokens": question.words,
                "marks": question.marks,
                "least_cosine": self._space.least_cosine(threshold),
                "limit": limit,
            },
            fusion=self._fusion,
            covered=self._space.covered,
            filters=filters and redacted_filters(filters, self._redactor),
        )

    async def delete(self, user_id: str, entry_id: UUID) -> bool:
        """Delete one memory of `user_id`; False if there is none of that id.

        Raises:
            InvalidUserError: `user_id` can't be used.
            StorageError: Nothing was deleted.
        """
        user_id = check_user_id(user_id)
        with storage_errors():
            async with self._pool.connection() as conn, conn.transaction(), conn.cursor(binary=True) as cursor:
                await lock_person(cursor, user_id)
                await cursor.execute(_DELETE, {"user_id": user_id, "entry_id": entry_id})
                row = await cursor.fetchone()
                if row is not None and row["thread_id"] is not None and row["position"] is not None:
                    # Its words must not live on in its neighbours.
                    await refresh_words(cursor, row["user_key"], {(row["thread_id"], row["position"])})
        return row is not None

    async def _count(self, new: list[Impacts]) -> None:
        """Count the words of `new` rows, which are stored: failing here must not tell the caller otherwise."""
        if not new:
            return
        try:
            with storage_errors():
                await count_documents(self._pool, new)
        except StorageError as error:
            logger.warning("memory.words_not_counted rows=%d cause=%s", len(new), error.code)

    def _scored(self, row: dict[str, Any]) -> ScoredMemory:
        similarity = 0.0 if row["cosine"] is None else self._space.calibration.similarity(row["cosine"])
        return ScoredMemory(record=record_from(row), score=row["score"], similarity=similarity)

    def _check_dims(self, vector: list[float]) -> None:
        if len(vector) != self._space.dims:
            raise ProviderError(
                f"The embedding model gave a vector of {len(vector)} dims; {self._space.dims} were announced. "
                "Check DISCREET_EMBEDDING_MODEL and DISCREET_EMBEDDING_DIMS."
            )
