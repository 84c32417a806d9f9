"""Vectors of one's own, below memories: what is stored has a vector already, and what is asked is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from discreet.state.records import MemoryFilters, MemoryRecord, ScoredMemory


class VectorStore(Protocol):
    """Records with their vectors, of all users; every call is scoped to one.

    Nothing is embedded, nothing is consolidated, and no word is looked at. All vectors of a store come from one model: they are
    compared by cosine, so their length does not matter.

    Raises, where a vector is given:
        InvalidVectorError: It has not `dims` numbers, one of them is NaN or infinite, or all are 0.
    """

    @property
    def dims(self) -> int:
        """Length of every vector."""
        ...

    async def upsert(self, user_id: str, record: MemoryRecord, vector: Sequence[float]) -> MemoryRecord:
        """Redact and store `record`, in the place of that of its entry_id if there is one; return it as stored.

        Raises:
            InvalidUserError: `user_id` can't be used.
            StorageError: Nothing was stored.
        """
        ...

    async def search(
        self, user_id: str, vector: Sequence[float], *, limit: int = 5, filters: MemoryFilters | None = None
    ) -> list[ScoredMemory]:
        """Return at most `limit` records of `user_id` that hold, nearest first; `score` is the cosine."""
        ...

    async def delete(self, user_id: str, entry_id: UUID) -> bool:
        """Delete one record of `user_id`; False if there is none of that id."""
        ...

    async def delete_many(self, user_id: str, filters: MemoryFilters) -> int:
        """Delete the records of `user_id` that `filters` select, ended ones too; return how many. No filter selects all."""
        ...
