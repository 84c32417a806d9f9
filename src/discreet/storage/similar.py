"""Find the stored facts that new ones may repeat, replace or contradict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

import numpy as np
from pgvector import HalfVector
from psycopg import AsyncCursor

from discreet.storage.memory_rows import RECORD_COLUMNS
from discreet.storage.settling import CONSOLIDATED
from discreet.storage.spaces import EmbeddingSpace

COMPARED = 12
"""Nearest facts that a new one is compared with. What it says again or replaces is among them; more cost time only."""

_NEAREST: LiteralString = f"""
SELECT {RECORD_COLUMNS}, n.cosine
FROM (
    SELECT user_key, entry_id, -(embedding <#> %(embedding)s::halfvec) AS cosine
    FROM discreet.memory
    WHERE user_key = %(user_key)s AND space_key = %(space_key)s AND app_key = %(app_key)s
      AND type = ANY (%(types)s::discreet.memory_type[]) AND valid_to IS NULL
    ORDER BY embedding <#> %(embedding)s::halfvec
    LIMIT %(limit)s
) n
JOIN discreet.memory m USING (user_key, entry_id)
JOIN discreet.app a USING (app_key)
WHERE n.cosine >= %(least_cosine)s
"""  # noqa: S608 - RECORD_COLUMNS is a constant of ours

_NEAREST_WIDE: LiteralString = f"""
SELECT {RECORD_COLUMNS}, -(m.wide_embedding <#> %(embedding)s::halfvec) AS cosine
FROM (
    SELECT user_key, entry_id
    FROM discreet.memory
    WHERE user_key = %(user_key)s AND space_key = %(space_key)s AND app_key = %(app_key)s
      AND type = ANY (%(types)s::discreet.memory_type[]) AND valid_to IS NULL
    ORDER BY sketch <~> binary_quantize(%(embedding)s::halfvec)
    LIMIT 4 * %(limit)s
) n
JOIN discreet.memory m USING (user_key, entry_id)
JOIN discreet.app a USING (app_key)
WHERE -(m.wide_embedding <#> %(embedding)s::halfvec) >= %(least_cosine)s
ORDER BY cosine DESC
LIMIT %(limit)s
"""  # noqa: S608 - RECORD_COLUMNS is a constant of ours
"""Wide vectors lie out of line: they are read for those alone whose signs are nearest."""


def nearest_query(space: EmbeddingSpace) -> LiteralString:
    """Return the query for the facts nearest to that of `nearest_parameters`, with their `cosine`."""
    return _NEAREST if space.covered else _NEAREST_WIDE


def nearest_parameters(
    vector: list[float], *, user_key: int, app_key: int, space: EmbeddingSpace, least: float
) -> dict[str, Any]:
    """Return the parameters of `nearest_query` for a fact embedded as `vector`; `least` is on the common scale."""
    return {
        "user_key": user_key,
        "app_key": app_key,
        "space_key": space.key,
        "types": sorted(CONSOLIDATED),
        "embedding": HalfVector(vector),
        "least_cosine": space.least_cosine(least),
        "limit": COMPARED,
    }


async def stored_near(
    cursor: AsyncCursor[dict[str, Any]], parameters: Mapping[int, Mapping[str, Any]], query: LiteralString
) -> dict[int, list[dict[str, Any]]]:
    """Return the rows that `query` finds for each of `parameters`, under the same key.

    A statement a fact, all in one round trip: each reads the covering index once, as a search does.
    """
    if not parameters:
        return {}
    await cursor.executemany(query, list(parameters.values()), returning=True)
    found = {}
    for position in parameters:
        found[position] = await cursor.fetchall()
        cursor.nextset()
    return found


def near_each_other(
    positions: list[int], vectors: Sequence[Sequence[float]], space: EmbeddingSpace, *, least: float
) -> dict[int, dict[int, float]]:
    """Return which of the new facts, by their `positions`, are near to each other, with their similarity."""
    if len(positions) < 2:  # noqa: PLR2004  # there is no pair
        return {}
    matrix = np.array([vectors[position] for position in positions], dtype=np.float32)
    cosines = matrix @ matrix.T
    near: dict[int, dict[int, float]] = defaultdict(dict)
    for one, other in np.argwhere(cosines >= space.least_cosine(least)):
        if one != other:
            near[positions[one]][positions[other]] = space.calibration.similarity(float(cosines[one, other]))
    return near
