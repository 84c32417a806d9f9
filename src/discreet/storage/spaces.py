"""The embedding spaces that vectors of this database belong to. Vectors of different spaces are never compared."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import LiteralString

from discreet.ports import Calibration, EmbeddingProvider
from discreet.storage.memory_rows import MAX_COVERED_DIMS
from discreet.storage.pool import Pool

_REGISTER: LiteralString = """
INSERT INTO discreet.embedding_space (name, dims, cosine_zero, cosine_one)
VALUES (%(name)s, %(dims)s, %(zero)s, %(one)s)
ON CONFLICT (name) DO UPDATE
SET dims = excluded.dims, cosine_zero = excluded.cosine_zero, cosine_one = excluded.cosine_one
RETURNING space_key
"""


@dataclass(frozen=True, kw_only=True)
class EmbeddingSpace:
    """One embedding model at one size, as this database knows it."""

    key: int
    """Of `discreet.embedding_space`."""
    dims: int
    """Length of its vectors."""
    calibration: Calibration
    """How its cosines read."""

    @property
    def covered(self) -> bool:
        """Whether the covering index holds its vectors whole."""
        return self.dims <= MAX_COVERED_DIMS

    def least_cosine(self, threshold: float | None) -> float:
        """Return the cosine from which on a memory's similarity is at least `threshold`."""
        if threshold is None or threshold <= 0:
            return -math.inf
        return self.calibration.zero + threshold * (self.calibration.one - self.calibration.zero)


async def register_space(pool: Pool, embeddings: EmbeddingProvider) -> EmbeddingSpace:
    """Return the space of `embeddings`, made now if it is new."""
    calibration = embeddings.calibration
    async with pool.connection() as conn, conn.cursor() as cursor:
        await cursor.execute(
            _REGISTER,
            {"name": embeddings.name, "dims": embeddings.dims, "zero": calibration.zero, "one": calibration.one},
        )
        row = await cursor.fetchone()
    assert row is not None  # the statement always returns the row
    return EmbeddingSpace(key=row["space_key"], dims=embeddings.dims, calibration=calibration)
