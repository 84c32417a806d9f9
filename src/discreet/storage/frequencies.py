"""In how many memories each token occurs: counted at saves, cached for searches.

Holds hashes and counts of all people together, no text and no user.
"""

from __future__ import annotations

import logging
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import LiteralString

from discreet.driver_errors import storage_errors
from discreet.errors import StorageError
from discreet.storage.deferred import Deferred
from discreet.storage.pool import Pool

logger = logging.getLogger(__name__)

MAX_AGE_SECONDS = 60.0
"""How old a cached count may be. Rarity changes slowly where there are many memories."""

FLUSH_SECONDS = 2.0
"""How long counts wait for others: a hundred memories have some 700 tokens, each a row. This process's searches know of
them at once."""

MAX_CACHED = 50_000
"""Tokens kept, some 10 MB."""

_COUNT_TOKENS: LiteralString = """
INSERT INTO discreet.token_frequency (token, documents)
SELECT token, documents FROM unnest(%s::integer[], %s::bigint[]) AS t (token, documents) ORDER BY token
ON CONFLICT (token) DO UPDATE SET documents = token_frequency.documents + excluded.documents
"""
"""Rows are locked in the order of tokens, so that two writers never wait for each other."""

_COUNT_DOCUMENTS: LiteralString = "UPDATE discreet.corpus SET documents = documents + %s"

_READ: LiteralString = """
SELECT t.token, coalesce(f.documents, 0) AS documents, c.documents AS corpus
FROM discreet.corpus c
CROSS JOIN unnest(%s::integer[]) AS t (token)
LEFT JOIN discreet.token_frequency f USING (token)
"""


class TokenFrequencies:
    """The counts, and how rare a question's tokens are by them."""

    def __init__(self, pool: Pool, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Use `pool`, whose owner closes this first."""
        self._pool = pool
        self._clock = clock
        self._corpus = 0
        self._cached: OrderedDict[int, tuple[int, float]] = OrderedDict()
        self._new: Counter[int] = Counter()
        self._new_documents = 0
        self._deferred = Deferred(self.flush, seconds=FLUSH_SECONDS)

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
        """Count `documents`, each given as its distinct tokens. Must be called on the event loop of the pool."""
        for document in documents:
            self._new.update(document)
        self._new_documents += len(documents)
        if documents:
            self._deferred.request()

    async def flush(self) -> None:
        """Write what was counted. A failure is logged, and the counts wait for the next time.

        In a transaction of its own, short and not flushed to disk: common words are rows that everybody writes.
        """
        tokens, documents = self._new.copy(), self._new_documents
        if not documents:
            return
        try:
            with storage_errors():
                async with self._pool.connection() as conn, conn.transaction(), conn.cursor() as cursor:
                    await cursor.execute("SET LOCAL synchronous_commit = off")
                    await cursor.execute(_COUNT_TOKENS, (list(tokens), list(tokens.values())))
                    await cursor.execute(_COUNT_DOCUMENTS, (documents,))
        except StorageError as error:
            logger.warning("memory.words_not_counted memories=%d cause=%s", documents, error.code)
            return
        self._new -= tokens
        self._new_documents -= documents
        self._cached.clear()

    async def close(self) -> None:
        """Write what is left and stop."""
        await self._deferred.close()

    def _known(self, tokens: Sequence[int]) -> dict[int, int]:
        fresh_from = self._clock() - MAX_AGE_SECONDS
        cached = {token: self._cached[token] for token in tokens if token in self._cached}
        return {token: documents for token, (documents, read_at) in cached.items() if read_at >= fresh_from}

    async def _read(self, tokens: list[int]) -> dict[int, int]:
        async with self._pool.connection() as conn, conn.cursor(binary=True) as cursor:
            rows = await (await cursor.execute(_READ, (tokens,))).fetchall()
        now = self._clock()
        self._corpus = rows[0]["corpus"]
        for row in rows:
            self._cached[row["token"]] = row["documents"], now
            self._cached.move_to_end(row["token"])
        while len(self._cached) > MAX_CACHED:
            self._cached.popitem(last=False)
        return {row["token"]: row["documents"] for row in rows}


def inverse_document_frequency(corpus: int, documents: int) -> float:
    """Return the weight of a token that `documents` of `corpus` memories have."""
    return math.log(1 + (max(corpus - documents, 0) + 0.5) / (documents + 0.5))
