"""Count in how many memories each token occurs. Holds hashes and counts of all people together, no text and no user."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import LiteralString

from discreet.storage.pool import Pool

_COUNT_TOKENS: LiteralString = """
INSERT INTO discreet.token_frequency (token, documents)
SELECT token, count(*) FROM unnest(%s::integer[]) AS t (token) GROUP BY token ORDER BY token
ON CONFLICT (token) DO UPDATE SET documents = token_frequency.documents + excluded.documents
"""
"""Rows are locked in the order of tokens, so that two writers never wait for each other."""

_COUNT_DOCUMENTS: LiteralString = "UPDATE discreet.corpus SET documents = documents + %s"


async def count_documents(pool: Pool, documents: Sequence[Iterable[int]]) -> None:
    """Add `documents`, each given as its distinct tokens.

    In a transaction of its own, short and not flushed: common words are rows that everybody writes, and losing the
    last counts in a crash changes no search that one would notice.
    """
    async with pool.connection() as conn, conn.transaction(), conn.cursor() as cursor:
        await cursor.execute("SET LOCAL synchronous_commit = off")
        await cursor.execute(_COUNT_TOKENS, ([token for document in documents for token in document],))
        await cursor.execute(_COUNT_DOCUMENTS, (len(documents),))
