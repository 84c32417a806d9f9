"""Execute checked and redacted operations of a store: reads first, then all writes in one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from langgraph.store.base import Result, SearchOp

from discreet.driver_errors import storage_errors
from discreet.ports import EmbeddingProvider
from discreet.retrieval.lexical import Impacts, read_question
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.users.locks import UserLocks
from discreet.storage.memories.rows import Vectors
from discreet.storage.memories.token_frequencies import TokenFrequencies
from discreet.storage.store.preparing import Prepared
from discreet.storage.store.reading import StoreReader, StoreRules
from discreet.storage.store.search import StoreQuestion, question_of
from discreet.storage.store.writes import Put, StoreWriter


@dataclass(frozen=True, kw_only=True)
class StoreRunner:
    """Executes operations against the database."""

    pool: Pool
    """Its owner closes it."""
    embeddings: EmbeddingProvider
    """Of questions and of the texts of items."""
    frequencies: TokenFrequencies
    """How rare words are."""
    locks: UserLocks
    """Of namespaces that are written."""
    rules: StoreRules

    async def run(self, ops: Sequence[Prepared]) -> list[Result]:
        """Return the result of each of `ops`, in their order. Reads see what was there before the writes.

        Of several puts of one item the last one counts. What models are needed for is done before a connection is taken.
        """
        puts = list({(op.user_key, op.item_key): op for op in ops if isinstance(op, Put)}.values())
        questions = await self._questions({op.query for op in ops if isinstance(op, SearchOp) and op.query})
        vectors = await self._vectors(puts)
        with storage_errors():
            async with self.pool.connection() as conn:
                results = await StoreReader(conn=conn, questions=questions, rules=self.rules).read(ops)
            if puts:
                self.frequencies.add(await self._write(puts, vectors))
        return results

    async def _write(self, puts: Sequence[Put], vectors: Sequence[Sequence[Vectors]]) -> list[Impacts]:
        writer = StoreWriter(space_key=self.rules.space.key, sealer=self.rules.sealer, keys=self.rules.keys)
        async with self.locks.locked(put.user_key for put in puts) as locked:
            return await writer.write(locked.cursor, puts, vectors)

    async def _questions(self, queries: set[str]) -> dict[str, StoreQuestion]:
        async def question(text: str) -> StoreQuestion:
            [vector] = self.rules.space.checked([await self.embeddings.aembed_query(text)])
            asked = read_question(text)
            with storage_errors():
                rarity = await self.frequencies.rarity(asked.words)
            return question_of(text, vector, asked.weights(rarity))

        texts = sorted(queries)
        return dict(zip(texts, await asyncio.gather(*map(question, texts)), strict=True))

    async def _vectors(self, puts: Sequence[Put]) -> list[list[Vectors]]:
        """Return the vectors of each put's texts."""
        texts = [text.text for put in puts for text in put.texts]
        vectors = iter(self.rules.space.checked(await self.embeddings.aembed_documents(texts) if texts else []))
        return [[next(vectors) for _ in put.texts] for put in puts]
