"""The embedding spaces that vectors of this database belong to. Vectors of different spaces are never compared.

All memories move to the active space: the one that was activated last. A space is activated when it is new, or by
`discreet reembed`. A known one, as after a change that was taken back, becomes active once no process has worked in the
active space for `IDLE_SECONDS`, and only for a process that was started after that had been activated. So while old
and new processes run side by side, nothing is moved back and forth, however often one of them restarts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from discreet.errors import ProviderError
from discreet.ports import Calibration, EmbeddingProvider
from discreet.storage.memory_rows import MAX_COVERED_DIMS
from discreet.storage.pool import Pool

_REGISTER: LiteralString = """
INSERT INTO discreet.embedding_space (name, dims, cosine_zero, cosine_one)
VALUES (%(name)s, %(dims)s, %(zero)s, %(one)s)
ON CONFLICT (name) DO UPDATE
SET dims = excluded.dims, cosine_zero = excluded.cosine_zero, cosine_one = excluded.cosine_one
RETURNING space_key, now() AS opened_at
"""

_HOLD: LiteralString = """
WITH later AS MATERIALIZED (
    SELECT o.activated_at > %(opened_at)s OR o.used_at > now() - make_interval(secs => %(idle)s) AS stays
    FROM discreet.embedding_space o
    JOIN discreet.embedding_space s ON o.activated_at > s.activated_at
    WHERE s.space_key = %(space_key)s
)
UPDATE discreet.embedding_space
SET used_at = now(),
    activated_at = CASE WHEN (SELECT bool_or(stays) FROM later) IS NOT FALSE THEN activated_at ELSE now() END
WHERE space_key = %(space_key)s
RETURNING (SELECT bool_or(stays) FROM later) IS NOT TRUE AS active
"""
"""There is none later: it is active already. All later ones may be replaced: it is from now on."""

_ACTIVATE: LiteralString = """
UPDATE discreet.embedding_space SET activated_at = now(), used_at = now() WHERE space_key = %(space_key)s
"""

IDLE_SECONDS = 180.0
"""After three minutes in which no process said so, a space is in use by none: each says so about once a minute."""


@dataclass(frozen=True, kw_only=True)
class EmbeddingSpace:
    """One embedding model at one size, as this database knows it."""

    key: int
    """Of `discreet.embedding_space`."""
    dims: int
    """Length of its vectors."""
    calibration: Calibration
    """How its cosines read."""
    opened_at: datetime
    """When this process registered it, by the server's clock."""

    @property
    def covered(self) -> bool:
        """Whether the covering index holds its vectors whole."""
        return self.dims <= MAX_COVERED_DIMS

    def check(self, vector: Sequence[float]) -> None:
        """Check the length of a vector.

        Raises:
            ProviderError: It is not that of the space.
        """
        if len(vector) != self.dims:
            raise ProviderError(
                f"The embedding model gave a vector of {len(vector)} dims; {self.dims} were announced. "
                "Check DISCREET_EMBEDDING_MODEL and DISCREET_EMBEDDING_DIMS."
            )

    def least_cosine(self, threshold: float | None) -> float:
        """Return the cosine from which on a memory's similarity is at least `threshold`."""
        if threshold is None or threshold <= 0:
            return -math.inf
        return self.calibration.zero + threshold * (self.calibration.one - self.calibration.zero)


async def register_space(pool: Pool, embeddings: EmbeddingProvider) -> EmbeddingSpace:
    """Return the space of `embeddings`. It is made and activated now if it is new."""
    calibration = embeddings.calibration
    async with pool.connection() as conn, conn.cursor() as cursor:
        await cursor.execute(
            _REGISTER,
            {"name": embeddings.name, "dims": embeddings.dims, "zero": calibration.zero, "one": calibration.one},
        )
        row = await cursor.fetchone()
    assert row is not None  # the statement always returns the row
    return EmbeddingSpace(
        key=row["space_key"], dims=embeddings.dims, calibration=calibration, opened_at=row["opened_at"]
    )


async def hold_space(pool: Pool, space: EmbeddingSpace, *, idle: float = IDLE_SECONDS) -> bool:
    """Note that this process works in `space`, activate it if that is its turn, and return whether it is active.

    `idle` is after how many seconds of silence a space is in use by no process.
    """
    parameters = {"space_key": space.key, "opened_at": space.opened_at, "idle": idle}
    async with pool.connection() as conn, conn.cursor() as cursor:
        row = await (await cursor.execute(_HOLD, parameters)).fetchone()
    return row is not None and bool(row["active"])


async def activate_space(pool: Pool, space: EmbeddingSpace) -> None:
    """Make `space` the active one, whoever works in another."""
    async with pool.connection() as conn:
        await conn.execute(_ACTIVATE, {"space_key": space.key})
