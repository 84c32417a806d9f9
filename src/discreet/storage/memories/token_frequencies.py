"""How rare a question's tokens are among the memories of all users, held for searches."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import LiteralString

import numpy as np

from discreet.driver_errors import storage_errors
from discreet.storage.database.connecting.pool import Pool

MAX_AGE_SECONDS = 60.0
"""How old the sums may be that a search goes by. They are made anew each minute at most."""

LOOK_SECONDS = 30.0
"""From one look for new ones to the next, beside the searches: while there are any, no search waits for them."""

MOST = 100_000
"""Tokens held, the most frequent ones, 1.2 MB. Whichever is not among them counts as the rarest of them where there are more."""

_READ: LiteralString = """
SELECT c.documents AS corpus, c.counted_at, (
    SELECT string_agg(int4send(f.token) || int8send(f.documents), ''::bytea)
    FROM (SELECT token, documents FROM discreet.token_frequency ORDER BY documents DESC LIMIT %(most)s) f
) AS counts
FROM discreet.corpus c
WHERE c.counted_at IS DISTINCT FROM %(known)s
"""
"""As bytes: rows would keep the event loop for a tenth of a second."""

_COUNTS = np.dtype([("token", ">i4"), ("documents", ">i8")])


class TokenFrequencies:
    """The sums of `token_counts`, and what this process has added since they were made."""

    def __init__(self, pool: Pool, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Use `pool`, whose owner closes it."""
        self._pool = pool
        self._clock = clock
        self._looked_at = -math.inf
        self._counted_at: datetime | None = None
        self._corpus = 0
        self._tokens = np.empty(0, np.int32)
        """In order."""
        self._documents = np.empty(0, np.int64)
        self._others = 0
        self._new: Counter[int] = Counter()
        self._new_documents = 0

    async def rarity(self, tokens: Sequence[int]) -> dict[int, float]:
        """Return how rare each of the distinct `tokens` is.

        That is the inverse document frequency of Robertson and Zaragoza (2009), equation 3.3, plus 1 so that it stays
        positive: a word that a memory has always counts.
        """
        if self._clock() - self._looked_at >= MAX_AGE_SECONDS:
            await self.look()
        corpus = self._corpus + self._new_documents
        return {token: inverse_document_frequency(corpus, self._count(token) + self._new[token]) for token in tokens}

    def add(self, documents: Sequence[Iterable[int]]) -> None:
        """Take into account new `documents`, each given by its distinct tokens, until they have been summed up."""
        for document in documents:
            self._new.update(list(document))
        self._new_documents += len(documents)

    async def keep(self) -> None:
        """Look now and then, once a search has."""
        if LOOK_SECONDS <= self._clock() - self._looked_at < math.inf:
            with storage_errors():
                await self.look()

    async def look(self) -> None:
        """Read the sums, if they were made anew since.

        Raises:
            psycopg.Error: The database failed.
        """
        async with self._pool.connection() as conn, conn.cursor(binary=True) as cursor:
            row = await (await cursor.execute(_READ, {"most": MOST, "known": self._counted_at})).fetchone()
        self._looked_at = self._clock()
        if row is None:
            return
        if self._counted_at is not None:  # they have what this process added
            self._new.clear()
            self._new_documents = 0
        self._counted_at, self._corpus = row["counted_at"], row["corpus"]
        counts = np.sort(np.frombuffer(row["counts"] or b"", _COUNTS), order="token")
        self._tokens, self._documents = counts["token"].astype(np.int32), counts["documents"].astype(np.int64)
        self._others = int(self._documents.min()) if len(counts) >= MOST else 0

    def _count(self, token: int) -> int:
        at = int(self._tokens.searchsorted(token))
        return int(self._documents[at]) if at < len(self._tokens) and self._tokens[at] == token else self._others


def inverse_document_frequency(corpus: int, documents: int) -> float:
    """Return the weight of a token that `documents` of `corpus` memories have."""
    return math.log(1 + (max(corpus - documents, 0) + 0.5) / (documents + 0.5))
