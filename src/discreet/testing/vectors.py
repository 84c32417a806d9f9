"""Vectors in RAM, for tests and for graphs that try things out."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from discreet.ports import Calibration, TextRedactor
from discreet.redaction import Redactor
from discreet.redaction.records import redacted_filters, redacted_record
from discreet.retrieval.raw_vectors import unit_vector
from discreet.state.ids import check_user_id
from discreet.state.records import MemoryFilters, MemoryRecord, ScoredMemory
from discreet.testing.memories import matches


class InMemoryVectorStore:
    """The port `VectorStore` without a database: compares with every vector of the user. It never evicts.

    Example:
        >>> import asyncio
        >>> vectors = InMemoryVectorStore(2)
        >>> _ = asyncio.run(vectors.upsert("ann", MemoryRecord(text="Keeps two parrots"), [3.0, 4.0]))
        >>> [(hit.record.text, round(hit.score, 2)) for hit in asyncio.run(vectors.search("ann", [1.0, 0.0]))]
        [('Keeps two parrots', 0.6)]
    """

    def __init__(
        self, dims: int, *, redactor: TextRedactor | None = None, calibration: Calibration | None = None
    ) -> None:
        """Take vectors of `dims`, redact by `redactor` (default: the product's own), read cosines by `calibration`."""
        self.dims = dims
        self._redactor = redactor or Redactor()
        self._calibration = calibration or Calibration(zero=0.0, one=1.0)
        self._kept: defaultdict[str, dict[UUID, tuple[MemoryRecord, list[float]]]] = defaultdict(dict)

    async def upsert(self, user_id: str, record: MemoryRecord, vector: Sequence[float]) -> MemoryRecord:
        """Redact and store `record`, in the place of that of its id; a turn also in the place of the turn there."""
        kept = self._kept[check_user_id(user_id)]
        unit = unit_vector(vector, self.dims)
        stored = redacted_record(record, self._redactor)
        there = (each for each, _ in kept.values() if each.type == "turn" and each.place == stored.place)
        if stored.type == "turn" and (turn := next(there, None)) is not None:
            stored = stored.model_copy(update={"entry_id": turn.entry_id})
        kept[stored.entry_id] = stored, unit
        return stored

    async def search(
        self, user_id: str, vector: Sequence[float], *, limit: int = 5, filters: MemoryFilters | None = None
    ) -> list[ScoredMemory]:
        """Return at most `limit` records that hold, nearest first."""
        kept = self._kept[check_user_id(user_id)]
        unit = unit_vector(vector, self.dims)
        wanted = redacted_filters(filters or MemoryFilters(), self._redactor)
        found = [
            (math.fsum(a * b for a, b in zip(unit, other, strict=True)), record)
            for record, other in kept.values()
            if matches(record, wanted, held=True)
        ]
        found.sort(key=lambda each: (-each[0], each[1].entry_id))
        return [
            ScoredMemory(record=record, score=cosine, similarity=self._calibration.similarity(cosine))
            for cosine, record in found[: max(0, limit)]
        ]

    async def delete(self, user_id: str, entry_id: UUID) -> bool:
        """Delete one record of `user_id`; False if there is none of that id."""
        return self._kept[check_user_id(user_id)].pop(entry_id, None) is not None

    async def delete_many(self, user_id: str, filters: MemoryFilters) -> int:
        """Delete what `filters` select, ended or not; return how many."""
        kept = self._kept[check_user_id(user_id)]
        wanted = redacted_filters(filters, self._redactor)
        gone = [entry_id for entry_id, (record, _) in kept.items() if matches(record, wanted, held=False)]
        for entry_id in gone:
            del kept[entry_id]
        return len(gone)
