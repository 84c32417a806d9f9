"""Execute checked and redacted operations of a store: reads first, then all writes in one transaction."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from langgraph.store.base import ListNamespacesOp, Result, SearchOp

from discreet.access.actor import Actor, acting
from discreet.driver_errors import storage_errors
from discreet.ports import AuditLog, EmbeddingProvider
from discreet.retrieval.embedded_question import embedded_question
from discreet.retrieval.lexical import Impacts, read_question
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.users.epochs import epochs_of
from discreet.storage.database.users.locks import UserLocks
from discreet.storage.database.users.users import Cursor
from discreet.storage.memories.rows import Vectors
from discreet.storage.memories.token_frequencies import TokenFrequencies
from discreet.storage.store.listing import hidden_namespaces
from discreet.storage.store.preparing import Prepared
from discreet.storage.store.reading import StoreReader, StoreRules
from discreet.storage.store.search import StoreQuestion, question_of
from discreet.storage.store.writes import Put, StoreWriter


@dataclass(frozen=True, kw_only=True)
class StoreRunner:
    """Executes operations against the database."""

    pool: Pool
    """Its owner closes it."""
    works: Pool | None
    """The same as a role that sees all users, to sweep and to know which namespaces have nothing left but what expired; None
    where there is none: then these are listed until they are swept elsewhere."""
    embeddings: EmbeddingProvider
    """Of questions and of the texts of items."""
    frequencies: TokenFrequencies
    """How rare words are."""
    locks: UserLocks
    """Of namespaces that are written."""
    rules: StoreRules
    audit: AuditLog
    """Knows who wrote what."""

    async def run(self, ops: Sequence[Prepared]) -> list[Result]:
        """Return the result of each of `ops`, in their order. Reads see what was there before the writes.

        Of several puts of one item the last one counts. What models are needed for is done before a connection is taken.
        """
        puts = list({(op.user_key, op.item_key): op for op in ops if isinstance(op, Put)}.values())
        began = await self._began(puts)
        questions = await self._questions({op.query for op in ops if isinstance(op, SearchOp) and op.query})
        vectors = await self._vectors(puts)
        lists = any(isinstance(op, ListNamespacesOp) for op in ops)
        with storage_errors():
            hidden = await hidden_namespaces(self.works) if lists and self.works is not None else []
            async with self.pool.connection() as conn:
                reader = StoreReader(conn=conn, questions=questions, rules=self.rules, hidden=hidden)
                results = await reader.read(ops)
            if puts:
                self.frequencies.add(await self._write(puts, vectors, began))
        return results

    async def _write(
        self, puts: Sequence[Put], vectors: Sequence[Sequence[Vectors]], began: Mapping[UUID, int]
    ) -> list[Impacts]:
        writer = StoreWriter(space_key=self.rules.space.key, sealer=self.rules.sealer, keys=self.rules.keys)
        async with self.locks.locked(began, epoch=began) as locked:
            new = await writer.write(locked.cursor, puts, vectors)
            await self._tell(locked.cursor, puts)
        return new

    async def _tell(self, cursor: Cursor, puts: Sequence[Put]) -> None:
        """Have the audit trail know what each of those who ask put or deleted: of a user, else of a namespace."""
        told: defaultdict[tuple[UUID, bool, Actor], int] = defaultdict(int)
        for put in puts:
            told[put.owner or put.user_key, put.value is None, put.actor] += 1
        for (user_key, deletes, actor), items in sorted(told.items(), key=lambda each: each[0][0]):
            with acting(actor):
                action = "store.delete" if deletes else "store.write"
                await self.audit.record_in(cursor, action, user_key=user_key, data="store", counts={"items": items})

    async def _began(self, puts: Sequence[Put]) -> dict[UUID, int]:
        """Return under which epochs the work of `puts` began: of their namespaces, and of the users for whom they are."""
        told = [(put.began.user_key, put.began.epoch) for put in puts if put.began is not None]
        concerned = {user_key for put in puts for user_key in (put.user_key, put.owner) if user_key is not None}
        with storage_errors():
            began = await epochs_of(self.pool, concerned)
        for user_key, epoch in told:
            if user_key is not None:
                began[user_key] = min(epoch, began.get(user_key, epoch))
        return began

    async def _questions(self, queries: set[str]) -> dict[str, StoreQuestion]:
        words = self.rules.keys.token_digest

        async def question(text: str) -> StoreQuestion:
            [vector] = self.rules.space.checked([await self.embeddings.aembed_query(embedded_question(text))])
            asked = read_question(text, words)
            with storage_errors():
                rarity = await self.frequencies.rarity(asked.words)
            return question_of(text, vector, asked.weights(rarity), words)

        texts = sorted(queries)
        return dict(zip(texts, await asyncio.gather(*map(question, texts)), strict=True))

    async def _vectors(self, puts: Sequence[Put]) -> list[list[Vectors]]:
        """Return the vectors of each put's texts."""
        texts = [text.text for put in puts for text in put.texts]
        vectors = iter(self.rules.space.checked(await self.embeddings.aembed_documents(texts) if texts else []))
        return [[next(vectors) for _ in put.texts] for put in puts]
