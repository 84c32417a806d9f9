"""Find the stored facts that new ones may repeat, replace or contradict."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, LiteralString
from uuid import UUID

import numpy as np
from pgvector import HalfVector
from psycopg import AsyncCursor

from discreet.retrieval.dedup_resolution import CONSOLIDATED
from discreet.storage.memories.rows import Vectors
from discreet.storage.memories.spaces.spaces import EmbeddingSpace

COMPARED = 12
"""Nearest facts that a new one is compared with. What it says again or replaces is among them; more cost time only."""

SMALL_BATCH = 6
"""Up to so many facts are compared by the database, a scan each. For more it sends all vectors of the user once, 1 MB for
1,000 of 512 dims, and they are multiplied here: 100 facts against 1,000 take a tenth of the time."""

MEDIUM_BATCH = 200
"""Up to so many are multiplied with each other in a millisecond or two: another thread would not begin sooner."""

_FACTS: LiteralString = """
FROM discreet.memory
WHERE user_key = %(user_key)s AND space_key = %(space_key)s
  AND type = ANY (%(types)s::discreet.memory_type[]) AND valid_to IS NULL
"""

_NEAREST: LiteralString = f"""
SELECT entry_id, cosine
FROM (
    SELECT m.entry_id, -(m.embedding <#> %(embedding)s::halfvec) AS cosine
    FROM discreet.memory m
    WHERE m.user_key = %(user_key)s AND m.entry_id = ANY (ARRAY(
        SELECT entry_id
        {_FACTS} AND app_key = %(app_key)s
        ORDER BY sketch <~> (SELECT binary_quantize(%(embedding)s::halfvec))
        LIMIT 4 * %(limit)s
    ))
) n
WHERE cosine >= %(least_cosine)s
ORDER BY cosine DESC
LIMIT %(limit)s
"""  # noqa: S608 - a constant of ours
"""The index has the signs of vectors: those alone are read from the table whose signs are nearest."""

_ALL: LiteralString = f"SELECT entry_id, app_key, halfvec_send(embedding) AS embedding {_FACTS}"
_HEADER_BYTES = 4
"""Of a halfvec in binary format: its length, and two bytes not in use."""

Near = dict[int, dict[UUID, float]]
"""By position of a new fact: the stored facts that are near, with their similarity on the common scale."""


async def stored_near(
    cursor: AsyncCursor[dict[str, Any]],
    facts: Mapping[int, UUID],
    vectors: Vectors,
    *,
    user_key: UUID,
    space: EmbeddingSpace,
    least: float,
) -> Near:
    """Return what is stored near to the new `facts`, given as the key of their application by position in `vectors`.

    Only facts that hold and whose similarity is at least `least`, and of each the nearest `COMPARED`.
    """
    if not facts:
        return {}
    parameters = {"user_key": user_key, "space_key": space.key, "types": sorted(CONSOLIDATED)}
    if len(facts) > SMALL_BATCH:
        await cursor.execute(_ALL, parameters)
        return await asyncio.to_thread(_by_matrix, await cursor.fetchall(), facts, vectors, space, least)
    parameters |= {"limit": COMPARED, "least_cosine": space.least_cosine(least)}
    near: Near = {}
    for position, app_key in facts.items():
        own = {"app_key": app_key, "embedding": HalfVector(vectors[position])}
        await cursor.execute(_NEAREST, parameters | own)
        rows = await cursor.fetchall()
        near[position] = {row["entry_id"]: space.calibration.similarity(row["cosine"]) for row in rows}
    return near


def near_each_other(
    positions: Sequence[int], vectors: Vectors, space: EmbeddingSpace, *, least: float
) -> dict[int, dict[int, float]]:
    """Return which earlier ones of the new facts are near to each of them, by their `positions`, with their similarity."""
    if len(positions) < 2:  # noqa: PLR2004  # there is no pair
        return {}
    matrix = vectors[positions]
    cosines = matrix @ matrix.T
    near: dict[int, dict[int, float]] = defaultdict(dict)
    later, earlier = np.nonzero(np.tril(cosines >= space.least_cosine(least), -1))
    for one, other, cosine in zip(later.tolist(), earlier.tolist(), cosines[later, earlier].tolist(), strict=True):
        near[positions[one]][positions[other]] = space.calibration.similarity(cosine)
    return near


def _by_matrix(
    rows: Sequence[Mapping[str, Any]],
    facts: Mapping[int, UUID],
    vectors: Vectors,
    space: EmbeddingSpace,
    least: float,
) -> Near:
    """Do what the queries for one fact do, for many at once."""
    if not rows:
        return {}
    stored = np.frombuffer(b"".join(row["embedding"][_HEADER_BYTES:] for row in rows), dtype=">f2")
    app_keys = np.array([row["app_key"].int for row in rows], dtype=object)
    cosines = vectors[list(facts)] @ stored.astype(np.float32).reshape(len(rows), -1).T
    near: Near = {}
    for (position, app_key), row in zip(facts.items(), cosines, strict=True):
        passing = np.flatnonzero((row >= space.least_cosine(least)) & (app_keys == app_key.int))
        nearest = passing[np.argsort(-row[passing])][:COMPARED]
        near[position] = {rows[n]["entry_id"]: space.calibration.similarity(float(row[n])) for n in nearest}
    return near
