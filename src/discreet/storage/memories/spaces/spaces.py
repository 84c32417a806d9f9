"""The embedding spaces that vectors of this database belong to. Vectors of different spaces are never compared.

All memories move to the active space: the one that was activated last. A space is activated when it is new, or by
`discreet reembed`. A known one, as after a change that was taken back, becomes active once no process has worked in the
active space for `IDLE_SECONDS`, and only for a process that was started after that had been activated. So while old
and new processes run side by side, nothing is moved back and forth, however often one of them restarts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

import numpy as np
from psycopg.errors import UniqueViolation

from discreet.errors import ProviderError
from discreet.ports import Calibration, EmbeddingProvider
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.memories.rows import Vectors

_REGISTER: LiteralString = """
INSERT INTO discreet.embedding_space (space_key, name, dims, cosine_zero, cosine_one, activated_at, used_at)
VALUES (%(space_key)s, %(name)s, %(dims)s, %(zero)s, %(one)s, now(), now())
ON CONFLICT (name) DO UPDATE
SET dims = excluded.dims, cosine_zero = excluded.cosine_zero, cosine_one = excluded.cosine_one
"""

_NEXT_KEY: LiteralString = "SELECT coalesce(max(space_key), 0) + 1 AS space_key FROM discreet.embedding_space"

_KNOWN: LiteralString = """
SELECT space_key, dims, cosine_zero, cosine_one, now() AS opened_at FROM discreet.embedding_space WHERE name = %(name)s
"""

_IS_LATER: LiteralString = """
SELECT bool_or(o.activated_at > %(opened_at)s OR o.used_at > now() - make_interval(secs => %(idle)s)) AS stays
FROM discreet.embedding_space o
JOIN discreet.embedding_space s ON o.activated_at > s.activated_at
WHERE s.space_key = %(space_key)s
"""
"""Whether one of those that were activated later is in use; null: there is none later, it is active already."""

_ACTIVE: LiteralString = "SELECT name FROM discreet.embedding_space ORDER BY activated_at DESC LIMIT 1"

_HOLD: LiteralString = "UPDATE discreet.embedding_space SET used_at = now() WHERE space_key = %(space_key)s"

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

    def checked(self, vectors: Sequence[Sequence[float]]) -> Vectors:
        """Return vectors of the model as rows of an array.

        Raises:
            ProviderError: One has not the length of the space, or a number that is infinite or none.
        """
        for vector in vectors:
            if len(vector) != self.dims:
                raise ProviderError(
                    f"The embedding model gave a vector of {len(vector)} dims; {self.dims} were announced. "
                    "Check DISCREET_EMBEDDING_MODEL and DISCREET_EMBEDDING_DIMS."
                )
        with np.errstate(over="ignore"):  # then it is infinite
            rows = np.array(vectors, dtype=np.float32)
        if not np.isfinite(rows).all():
            raise ProviderError(
                "The embedding model gave a vector with numbers that are not finite. Try again, or choose another model with "
                "DISCREET_EMBEDDING_MODEL."
            )

        return rows

    def least_cosine(self, threshold: float | None) -> float:
        """Return the cosine from which on a memory's similarity is at least `threshold`."""
        if threshold is None or threshold <= 0:
            return -math.inf
        return self.calibration.zero + threshold * (self.calibration.one - self.calibration.zero)


async def active_space(pool: Pool) -> str | None:
    """Return the name of the space that memories move to; None before the first is registered."""
    async with pool.connection() as conn:
        row = await (await conn.execute(_ACTIVE)).fetchone()
    return None if row is None else str(row["name"])


async def register_space(pool: Pool, embeddings: EmbeddingProvider) -> EmbeddingSpace:
    """Return the space of `embeddings`. It is made and activated now if it is new; one that is known is only read."""
    calibration = embeddings.calibration
    given = {"name": embeddings.name, "dims": embeddings.dims, "zero": calibration.zero, "one": calibration.one}
    async with pool.connection() as conn, conn.cursor(binary=True) as cursor:
        while True:
            row = await (await cursor.execute(_KNOWN, given)).fetchone()
            if row and (row["dims"], row["cosine_zero"], row["cosine_one"]) == (
                given["dims"],
                given["zero"],
                given["one"],
            ):
                return EmbeddingSpace(
                    key=row["space_key"], dims=embeddings.dims, calibration=calibration, opened_at=row["opened_at"]
                )
            new = await (await cursor.execute(_NEXT_KEY)).fetchone()
            with suppress(UniqueViolation):  # another process took that space_key in this moment
                await cursor.execute(_REGISTER, {**given, **(new or {})})


async def hold_space(pool: Pool, space: EmbeddingSpace, *, idle: float = IDLE_SECONDS) -> bool:
    """Note that this process works in `space`, activate it if that is its turn, and return whether it is active.

    `idle` is after how many seconds of silence a space is in use by no process.
    """
    given = {"space_key": space.key, "opened_at": space.opened_at, "idle": idle}
    async with pool.connection() as conn, conn.transaction(), conn.cursor(binary=True) as cursor:
        found = await (await cursor.execute(_IS_LATER, given)).fetchone()
        stays = found and found["stays"]
        await cursor.execute(_ACTIVATE if stays is False else _HOLD, given)
        return cursor.rowcount == 1 and not stays


async def activate_space(pool: Pool, space: EmbeddingSpace) -> None:
    """Make `space` the active one, whoever works in another."""
    async with pool.connection() as conn:
        await conn.execute(_ACTIVATE, {"space_key": space.key})
