"""What no search of ours can be faster than: a round trip, and the distances of all that a person said."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any, LiteralString

from pgvector import HalfVector
from racing.contestant import LIMIT
from racing.filling import keys
from racing.ours import OurRace
from racing.people import Lookup, Question

from discreet.retrieval.lexical import read_question
from discreet.storage.memories.rows import sparse

ROUND_TRIP = "round trip"
KERNELS = "round trip and kernels"
SEARCH = "search"

_KERNELS: LiteralString = """
SELECT sum(m.sketch <~> (SELECT binary_quantize(%(embedding)s::halfvec))), sum(m.lexical <#> %(lexical)s)
FROM discreet.memory m
WHERE m.user_key = %(user_key)s
"""


async def floor(
    race: OurRace, questions: Sequence[Question], embeddings: Lookup, repetitions: int
) -> dict[str, list[float]]:
    """Return the median milliseconds of `ROUND_TRIP`, `KERNELS` and `SEARCH`, a value a repetition."""
    keys_of = keys()
    medians: dict[str, list[float]] = {ROUND_TRIP: [], KERNELS: [], SEARCH: []}
    for _ in range(repetitions):
        taken: dict[str, list[float]] = {name: [] for name in medians}
        for asked in questions:
            parameters = {
                "user_key": keys_of.of_user(asked.user_id),
                "embedding": HalfVector(embeddings.embed_query(asked.text)),
                "lexical": sparse(dict.fromkeys(read_question(asked.text, keys_of.token_digest).words, 1.0)),
            }
            taken[ROUND_TRIP].append(await _milliseconds(race, "SELECT 1", None))
            taken[KERNELS].append(await _milliseconds(race, _KERNELS, parameters))
            started = time.perf_counter()
            await race.storage.memories.search(asked.user_id, asked.text, limit=LIMIT)
            taken[SEARCH].append(1e3 * (time.perf_counter() - started))
        for name, values in taken.items():
            medians[name].append(statistics.median(values))
    return medians


async def _milliseconds(race: OurRace, statement: LiteralString, parameters: dict[str, Any] | None) -> float:
    started = time.perf_counter()
    async with race.storage.pool.connection() as connection, connection.cursor(binary=True) as cursor:
        await cursor.execute(statement, parameters)
        await cursor.fetchall()
    return 1e3 * (time.perf_counter() - started)
