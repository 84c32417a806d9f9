"""Vectors of one's own over the table of memories: what is stored here is a memory too, and found as one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import LiteralString
from uuid import UUID

import numpy as np

from discreet.driver_errors import storage_errors
from discreet.ports import TextRedactor
from discreet.redaction.records import redacted_filters, redacted_record
from discreet.retrieval.raw_vectors import unit_vector
from discreet.state.ids import check_user_id
from discreet.state.records import MemoryFilters, MemoryRecord, ScoredMemory
from discreet.storage.database.connecting.reading import Reader
from discreet.storage.memories.memories import PostgresMemories
from discreet.storage.memories.rows import RECORD_COLUMNS, readable
from discreet.storage.memories.saving import SaveRules
from discreet.storage.memories.search import (
    COSINE,
    Search,
    conditions_of,
    near_by_signs,
    question_parameters,
    shortlist_for,
)
from discreet.storage.memories.spaces.spaces import EmbeddingSpace
from discreet.storage.memories.thread_ids import with_stored_thread, with_stored_threads
from discreet.storage.memories.unit_of_work import Prepared

_IS_THERE: LiteralString = "SELECT FROM discreet.memory WHERE user_key = %(user_key)s AND entry_id = %(entry_id)s"

_NEAREST: LiteralString = """
SELECT {columns}, {cosine} AS cosine
FROM unnest(ARRAY({near})) AS near (entry_id)
CROSS JOIN LATERAL (
    SELECT * FROM discreet.memory r WHERE r.user_key = %(user_key)s AND r.entry_id = near.entry_id LIMIT 1
) m
ORDER BY cosine DESC, m.entry_id
LIMIT %(limit)s
"""


class PostgresVectorStore:
    """The port `VectorStore` over PostgreSQL and pgvector.

    Its vectors are of the embedding model that the storage was opened with. The limit of memories a user holds here too.
    """

    def __init__(self, memories: PostgresMemories, *, reader: Reader, rules: SaveRules, redactor: TextRedactor) -> None:
        """Write by `memories`, whose rules and redactor these are."""
        self.dims = rules.space.dims
        self._memories = memories
        self._reader = reader
        self._rules = rules
        self._redactor = redactor

    async def upsert(self, user_id: str, record: MemoryRecord, vector: Sequence[float]) -> MemoryRecord:
        """Redact and store `record`, in the place of that of its id; a turn also in the place of the turn there.

        Raises:
            InvalidUserError: `user_id` can't be used.
            SensitiveIdError: An id holds a sensitive value, and the settings refuse such ids.
            InvalidVectorError: It can't be compared with those of the storage's model.
            StorageError: Nothing was stored.
        """
        keys = self._rules.keys
        user_key = keys.of_user(keys.ids.user_id(user_id))
        record = with_stored_thread(record, keys.ids)
        unit = unit_vector(vector, self.dims)
        redacted = await asyncio.to_thread(redacted_record, record, self._redactor)
        prepared = Prepared([redacted], np.array([unit], dtype=np.float32))
        async with self._memories.unit_of_work(user_key) as unit_of_work:
            asked = {"user_key": user_key, "entry_id": record.entry_id}
            await unit_of_work.cursor.execute(_IS_THERE, asked)
            replaces = record.type == "turn" or unit_of_work.cursor.rowcount > 0  # then nothing else is looked at
            [stored] = (await unit_of_work.save(prepared, dedup=replaces)).stored
        return stored

    async def search(
        self, user_id: str, vector: Sequence[float], *, limit: int = 5, filters: MemoryFilters | None = None
    ) -> list[ScoredMemory]:
        """Return at most `limit` memories that hold and have a vector of this model, nearest first.

        Raises:
            InvalidUserError: `user_id` can't be used.
            InvalidVectorError: It can't be compared with those of the storage's model.
            StorageError: The database failed.
        """
        space = self._rules.space
        nearest = build_nearest(
            self._rules.keys.of_user(check_user_id(user_id)),
            unit_vector(vector, self.dims),
            space=space,
            limit=limit,
            filters=filters and with_stored_threads(redacted_filters(filters, self._redactor), self._rules.keys.ids),
        )
        with storage_errors():
            rows = await self._reader.fetch(nearest.statement, nearest.parameters)
        await self._memories.record_reading(nearest.parameters["user_key"], len(rows))
        cosines = {row["entry_id"]: row["cosine"] for row in rows}
        return [
            ScoredMemory(
                record=record, score=(near := cosines[record.entry_id]), similarity=space.calibration.similarity(near)
            )
            for record in readable(rows, self._rules.sealer)
        ]

    async def delete(self, user_id: str, entry_id: UUID) -> bool:
        """Delete one memory of `user_id`; False if there is none of that id."""
        return await self._memories.delete(user_id, entry_id)

    async def delete_many(self, user_id: str, filters: MemoryFilters) -> int:
        """Delete the memories of `user_id` that `filters` select, superseded ones too; return how many."""
        return await self._memories.delete_many(user_id, filters)


def build_nearest(
    user_key: UUID, unit: list[float], *, space: EmbeddingSpace, limit: int, filters: MemoryFilters | None
) -> Search:
    """Return the query for the memories of `space` that are nearest to a vector of unit length."""
    conditions, values = conditions_of(filters)
    near = near_by_signs("AND m.space_key = %(space_key)s " + conditions, limit=shortlist_for(limit, space.dims))
    asked = question_parameters(np.array(unit, dtype=np.float32), {}, space)
    statement = _NEAREST.format(columns=RECORD_COLUMNS, cosine=COSINE, near=near)
    return Search(statement=statement, parameters={**asked, **values, "user_key": user_key, "limit": max(0, limit)})
