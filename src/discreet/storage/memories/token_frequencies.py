"""How rare a question's tokens are among the memories of all users, cached for searches."""

from __future__ import annotations

import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import LiteralString

from discreet.storage.database.connecting.pool import Pool

MAX_AGE_SECONDS = 60.0
"""How old a cached count may be. Rarity changes slowly where there are many memories."""

MAX_CACHED = 50_000
"""Tokens kept, some 10 MB."""

_READ: LiteralString = """
SELECT t.token, coalesce(f.documents, 0) AS documents, c.documents AS corpus, c.counted_at
FROM discreet.corpus c
CROSS JOIN unnest(%(tokens)s::integer[]) AS t (token)
LEFT JOIN discreet.token_frequency f USING (token)
"""


class TokenFrequencies:
    """The sums of `token_counts`, and what this process has added since they were made."""

    def __init__(self, pool: Pool, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Use `pool`, whose owner closes it."""
        self._pool = pool
        self._clock = clock
        self._corpus = 0
        self._counted_at: datetime | None = None
        self._cached: OrderedDict[int, tuple[int, float]] = OrderedDict()
        self._new: Counter[int] = Counter()
        self._new_documents = 0

    async def rarity(self, tokens: Sequence[int]) -> dict[int, float]:
        """Return how rare each of the distinct `tokens` is.

        That is the inverse document frequency of Robertson and Zaragoza (2009), equation 3.3, plus 1 so that it stays
        positive: a word that a memory has always counts.
        """
        counts = self._known(tokens)
        if len(counts) < len(tokens):
            counts |= await self._read([token for token in tokens if token not in counts])
        corpus = self._corpus + self._new_documents
        return {token: inverse_document_frequency(corpus, counts[token] + self._new[token]) for token in tokens}

    def add(self, documents: Sequence[Iterable[int]]) -> None:
        """Take into account new `documents`, each given by its distinct tokens, until they have been summed up."""
        for document in documents:
            self._new.update(list(document))
        self._new_documents += len(documents)

    def _known(self, tokens: Sequence[int]) -> dict[int, int]:
        fresh_from = self._clock() - MAX_AGE_SECONDS
        cached = {token: self._cached[token] for token in tokens if token in self._cached}
        return {token: documents for token, (documents, read_at) in cached.items() if read_at >= fresh_from}

    async def _read(self, tokens: list[int]) -> dict[int, int]:
        async with self._pool.connection() as conn, conn.cursor(binary=True) as cursor:
            rows = await (await cursor.execute(_READ, {"tokens": tokens})).fetchall()
        if rows[0]["counted_at"] != self._counted_at:
            self._begin(rows[0]["counted_at"], rows[0]["corpus"])
        now = self._clock()
        found = {row["token"]: row["documents"] for row in rows}
        for token, documents in found.items():
            self._cached[token] = documents, now
            self._cached.move_to_end(token)
        while len(self._cached) > MAX_CACHED:
            self._cached.popitem(last=False)
        return found

    def _begin(self, counted_at: datetime, corpus: int) -> None:
        """Go by sums that were made anew, which have what this process added."""
        if self._counted_at is not None:
            self._cached.clear()
            self._new.clear()
            self._new_documents = 0
        self._counted_at, self._corpus = counted_at, corpus


def inverse_document_frequency(corpus: int, documents: int) -> float:
    """Return the weight of a token that `documents` of `corpus` memories have."""
    return math.log(1 + (max(corpus - documents, 0) + 0.5) / (documents + 0.5))
