"""Long-term memory in PostgreSQL: save, search and delete, each scoped to one user."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import copy
from typing import Any
from uuid import UUID

from psycopg import Rollback

from discreet.access.epochs import Beginning
from discreet.driver_errors import storage_errors
from discreet.metrics import memories_saved, search_database_seconds, search_seconds
from discreet.ports import (
    AuditLog,
    EmbeddingProvider,
    ForgetRequest,
    Forgotten,
    MemoryQuery,
    OpenedTurn,
    RollingSummaries,
    ShortTermStore,
    TextRedactor,
    is_semantic,
)
from discreet.redaction.beside import beside_loop
from discreet.redaction.records import redacted_feedback, redacted_filters, redacted_record, text_chars
from discreet.retrieval.embedded_question import embedded_question
from discreet.retrieval.fusion import Fusion
from discreet.retrieval.lexical import read_question
from discreet.spans import span
from discreet.state.ids import check_user_id
from discreet.state.records import MemoryFilters, MemoryRecord, PageMark, ScoredMemory
from discreet.state.text import storable
from discreet.storage.conversation.summaries import PostgresRollingSummaries
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.connecting.reading import Reader
from discreet.storage.database.keys import digest
from discreet.storage.database.sealing import reported
from discreet.storage.database.statements import fetch
from discreet.storage.database.users.epochs import Epochs, begins_under
from discreet.storage.database.users.locks import UserLocks
from discreet.storage.database.users.users import Ahead, Cursor, rows_for_user
from discreet.storage.memories.browsing import build_get, build_latest
from discreet.storage.memories.deleting import delete_entries, delete_one, delete_where
from discreet.storage.memories.feedback import append_feedback
from discreet.storage.memories.forgetting import MARKED, forget_entry, forget_text
from discreet.storage.memories.opening import opening_statement, summary_row
from discreet.storage.memories.rows import readable, record_from
from discreet.storage.memories.saving import SaveRules, candidates_for
from discreet.storage.memories.search import Search, arrange, build_search, question_parameters
from discreet.storage.memories.thread_ids import with_stored_thread, with_stored_threads
from discreet.storage.memories.token_frequencies import TokenFrequencies
from discreet.storage.memories.unit_of_work import Prepared, UnitOfWork
from discreet.storage.memories.usage_counts import UsageCounts
from discreet.storage.short_term.postgres_store import PostgresShortTermStore

AT_ONCE = 500
"""Memories that are read at least, once the newest ones turned out to be under a lost key."""

NOBODY = UUID(int=0)
"""Key of a user that there is not: keys are digests."""

MAX_QUERY_CHARS = 2_000
"""How much of a question is searched for. Longer ones are pasted documents, known by how they begin."""


class PostgresMemories:
    """The `Memories` port over PostgreSQL and pgvector."""

    def __init__(
        self,
        pool: Pool,
        *,
        embeddings: EmbeddingProvider,
        rules: SaveRules,
        redactor: TextRedactor,
        frequencies: TokenFrequencies,
        locks: UserLocks,
        fusion: Fusion = "convex",
        want: Callable[[UUID], None] | None = None,
        read_pool: Pool | None = None,
        audit: AuditLog,
        ready: Callable[[], Awaitable[object]] | None = None,
        joins: bool = True,
    ) -> None:
        """Use `pool`, whose owner closes it after this. The space of `rules` is that of `embeddings`.

        `read_pool` leads to a replica, which is searched. `ready` waits until `embeddings` are loaded. `joins`: whether the database opens a turn in one statement. `want` is told the user_key of a user some of whose memories are of
        another embedding space.
        """
        self._pool = pool
        self._locks = locks
        self._key_of: Callable[[str], UUID] = rules.keys.of_user
        self._embeddings = embeddings
        self.semantic = is_semantic(embeddings)
        self._rules = rules
        self._redactor = redactor
        self._fusion: Fusion = fusion
        self._want = want
        self._frequencies = frequencies
        self._usage = UsageCounts(pool)
        self._reader = Reader(pool, read_pool)
        self._joins = joins and read_pool is None
        self._audit = audit
        self._ready = ready
        epochs = Epochs(pool, rules.keys)
        self.begin, self.check_run = epochs.begin, epochs.check_run
        """See `discreet.ports.BeginsWork`."""

    async def ready(self) -> None:
        """Wait until what a search needs is loaded. See `discreet.ports.LoadsFirst`."""
        if self._ready is not None:
            await self._ready()

    async def warm(self) -> None:
        """Search for nobody as a turn does, so that a connection knows the statement and the server the tables.

        Raises:
            StorageError: The database failed.
        """
        space, filters = self._rules.space, MemoryFilters(running_thread=str(NOBODY))
        vector = [1.0] + [0.0] * (space.dims - 1)
        search = await self.plan(NOBODY, "nothing", vector, filters=filters, limit=1, threshold=1.0, few=1)
        with storage_errors():
            await self._reader.fetch(search.statement, search.parameters)

    def by_key(self) -> PostgresMemories:
        """Return the same for who knows users by their keys alone: what it takes as `user_id` is a key, as text."""
        other = copy(self)
        other._key_of = UUID  # noqa: SLF001  # of a copy of this
        return other

    async def save(
        self, user_id: str, records: Sequence[MemoryRecord], *, dedup: bool = True, epoch: int | None = None
    ) -> list[MemoryRecord]:
        """Redact, embed and store `records` in one transaction; return them as stored, in their order.

        A turn replaces the turn at its thread and position, and a known entry_id its record. A fact that is known
        already is refreshed: what comes back then is the stored one. One that is a new state of what is known supersedes
        it, and one that may contradict it is flagged. Over the limit of memories the least useful ones go.

        Without `dedup` none of this happens but the last: each becomes a record of its own. `epoch` is the user's when the
        work began, see `discreet.storage.database.users.users`; by default that of the turn, else the one they have now.

        Raises:
            InvalidUserError: `user_id` can't be used.
            SensitiveIdError: An id holds a sensitive value, and the settings refuse such ids; nothing was stored.
            UserErasedError: The user was erased since then; nothing was stored.
            EntryExistsError: Without `dedup` there is a record of that id, or two given have one; nothing was stored.
            ProviderError: The embedding model failed; nothing was stored.
            StorageError: Nothing was stored.
        """
        ids = self._rules.keys.ids
        user_key, records = self._key_of(ids.user_id(user_id)), [with_stored_thread(each, ids) for each in records]
        if not records:
            return []
        with span("memory.save", user_key=user_key, given=len(records)) as noted:
            with storage_errors():
                epoch = await begins_under(self._pool, user_key, epoch)
            prepared = await self.prepare(records)
            candidates = candidates_for(user_key, prepared.records, prepared.vectors, self._rules, dedup=dedup)
            async with self.unit_of_work(user_key, epoch=epoch, ahead=candidates.ask) as unit:
                stored = (await unit.save(prepared, dedup=dedup, candidates=candidates)).stored
            noted.note(stored=len({record.entry_id for record in stored}))
            return stored

    async def prepare(self, records: Sequence[MemoryRecord]) -> Prepared:
        """Redact and embed `records`, for `UnitOfWork.save`.

        Raises:
            ProviderError: The embedding model failed.
        """
        chars = sum(map(text_chars, records))
        redacted = await beside_loop(chars, lambda: [redacted_record(record, self._redactor) for record in records])
        vectors = await self._embeddings.aembed_documents([record.text for record in redacted]) if redacted else []
        return Prepared(redacted, self._rules.space.checked(vectors))

    @asynccontextmanager
    async def unit_of_work(
        self, user_key: UUID, *, epoch: int | None = None, ahead: Ahead | None = None
    ) -> AsyncIterator[UnitOfWork]:
        """Yield what saves memories of a user in one transaction with other statements on its cursor; `ahead`: see `UserLocks`.

        Raises:
            UserErasedError: The user was erased since `epoch`; nothing was stored.
            StorageError: Nothing was stored.
        """
        with storage_errors():
            async with self._locks.locked([user_key], epoch=epoch, ahead=ahead) as locked:
                unit = UnitOfWork(locked, user_key, self._rules)
                yield unit
                if unit.saved:
                    await self._tell(locked.cursor, "memory.write", user_key, unit.counts)
        for record in unit.saved:
            memories_saved.labels(type=record.type).inc()
        for written in unit.written:
            self._frequencies.add(written.new)

    async def search(
        self,
        user_id: str,
        query: str,
        *,
        limit: int = 5,
        threshold: float | None = None,
        filters: MemoryFilters | None = None,
        few: int = 0,
    ) -> list[ScoredMemory]:
        """Return at most `limit` current memories of `user_id`, best first. A blank query finds nothing.

        `threshold` applies to the calibrated similarity; a memory that shares a word with the query is exempt.

        Where the user has at most `few` current facts, all of them are returned beside these `limit`, near or not: behind what
        was found, nearest first. Turns and summaries are no facts.

        Raises:
            InvalidUserError: `user_id` can't be used.
            ProviderError: The embedding model failed.
            StorageError: The database failed.
        """
        user_key = self._key_of(check_user_id(user_id))
        asked = MemoryQuery(query=query, limit=limit, threshold=threshold, filters=filters, few=few)
        with search_seconds.time(), span("memory.search", user_key=user_key, limit=limit) as noted:
            search = await self._planned(user_key, asked)
            if search is None:
                return []
            with search_database_seconds.time(), storage_errors():
                rows = await self._reader.fetch(search.statement, search.parameters)
            found = await self._handed_out(user_key, arrange(rows, limit))
            noted.note(found=len(found))
        return found

    def opens_with(self, *stores: object) -> bool:
        """Return whether `open_turn` takes these sessions and summaries: they are in the same database."""
        ours = (PostgresShortTermStore, PostgresRollingSummaries)
        return self._joins and all(isinstance(each, ours) and each.pool is self._pool for each in stores)

    async def open_turn(
        self,
        user_id: str,
        thread_id: str | None,
        asked: MemoryQuery | None = None,
        *,
        short_term: ShortTermStore | None = None,
        summaries: RollingSummaries | None = None,
    ) -> OpenedTurn:
        """Search, where something is `asked`, and read what else a turn needs, in one statement; see `discreet.ports.OpensTurns`.

        Raises:
            InvalidUserError: `user_id` can't be used.
            ProviderError: The embedding model failed.
            UserBusyError: The user is being erased, and that takes long.
            StorageError: The database failed.
        """
        user_key = self._key_of(check_user_id(user_id))
        thread_key = None if thread_id is None else digest(self._rules.keys.ids.thread_id(thread_id, stores=False))
        with search_seconds.time(), span("memory.open_turn", user_key=user_key) as noted:
            search = None if asked is None else await self._planned(user_key, asked)
            given = {**(search.parameters if search else {}), "user_key": user_key, "thread_key": thread_key}
            session = short_term if isinstance(short_term, PostgresShortTermStore) and thread_key is not None else None
            statement = opening_statement(
                search.statement if search else None, touches=session is not None, summary=summaries is not None
            )
            with search_database_seconds.time(), storage_errors():
                if session is None:
                    rows = await fetch(self._pool, statement, given)
                else:
                    rows = await rows_for_user(self._pool, statement, given | session.touching)
            hits = [row for row in rows if row["entry_id"] is not None]
            found = await self._handed_out(user_key, arrange(hits, asked.limit)) if asked and search else []
            noted.note(found=len(found))
        summary = None
        if isinstance(summaries, PostgresRollingSummaries):
            summary = summaries.read(user_key, thread_key, summary_row(rows[0]))
        return OpenedTurn(
            began=str(Beginning(user_key, rows[0]["turn_epoch"])),
            forgotten=frozenset(rows[0]["turn_forgotten"]),
            summary=summary,
            found=found,
        )

    async def _planned(self, user_key: UUID, asked: MemoryQuery) -> Search | None:
        """Return the statement for what is asked; None where that is nothing."""
        query = self._redactor.redact(storable(asked.query[:MAX_QUERY_CHARS]))
        if not query.strip() or asked.limit < 1:
            return None
        vector = await self._embeddings.aembed_query(embedded_question(query))
        return await self.plan(
            user_key,
            query,
            vector,
            limit=asked.limit,
            threshold=asked.threshold,
            filters=asked.filters,
            few=asked.few,
        )

    async def _handed_out(self, user_key: UUID, rows: Sequence[dict[str, Any]]) -> list[ScoredMemory]:
        """Return what was found, and have all know of it that have to."""
        self._usage.add((user_key, row["entry_id"]) for row in rows)
        if self._want is not None and any(row["cosine"] is None for row in rows):
            self._want(user_key)
        await self.record_reading(user_key, len(rows))
        return self._scored(rows)

    async def plan(
        self,
        user_key: UUID,
        query: str,
        vector: list[float],
        *,
        limit: int,
        threshold: float | None = None,
        filters: MemoryFilters | None = None,
        few: int = 0,
    ) -> Search:
        """Return the statement that `search` runs for `query`, whose embedding is `vector`."""
        [embedding] = self._rules.space.checked([vector])
        asked = read_question(query, self._rules.keys.token_digest)
        with storage_errors():
            rarity = await self._frequencies.rarity(asked.words)
        weights = asked.weights(rarity)
        space = self._rules.space
        parameters = {
            "user_key": user_key,
            "least_cosine": space.least_cosine(threshold),
            "limit": limit,
            **question_parameters(embedding, weights, space),
        }
        filters = filters and self._asked(filters)
        return build_search(parameters, fusion=self._fusion, filters=filters, few=few)

    async def get(self, user_id: str, entry_id: UUID) -> MemoryRecord | None:
        """Return one memory of `user_id`, superseded or not; None if there is none of that id.

        Raises:
            InvalidUserError: `user_id` can't be used.
            StorageError: The database failed.
            EncryptionError: It can't be opened: its key is not known, or it was changed or put there by somebody else.
        """
        user_key = self._key_of(check_user_id(user_id))
        rows = await self._rows(build_get(user_key, entry_id))
        await self.record_reading(user_key, len(rows))
        with reported("memory", entry_id):
            return record_from(rows[0], self._rules.sealer) if rows else None

    async def latest(
        self,
        user_id: str,
        *,
        limit: int = 50,
        filters: MemoryFilters | None = None,
        older_than: UUID | PageMark | None = None,
        held: bool = True,
    ) -> list[MemoryRecord]:
        """Return at most `limit` memories of `user_id`, newest first. The last entry_id is the next page's `older_than`.

        Its mark is that too, and serves when the entry is gone. Without `held`, superseded ones are listed too. One
        whose key is not known is left out, and the log names it.

        Raises:
            InvalidUserError: `user_id` can't be used.
            StorageError: The database failed.
        """
        user_key = self._key_of(check_user_id(user_id))
        return await self.latest_of(user_key, limit=limit, filters=filters, older_than=older_than, held=held)

    async def latest_of(
        self,
        user_key: UUID,
        *,
        limit: int,
        filters: MemoryFilters | None = None,
        older_than: UUID | PageMark | None = None,
        held: bool = True,
    ) -> list[MemoryRecord]:
        """Do what `latest` does, for whom the database knows by `user_key`.

        Raises:
            StorageError: The database failed.
        """
        filters = filters and self._asked(filters)
        found: list[MemoryRecord] = []
        wanted = limit
        while len(found) < limit:
            rows = await self._rows(
                build_latest(user_key, limit=wanted, filters=filters, older_than=older_than, held=held)
            )
            found += readable(rows, self._rules.sealer)
            if len(rows) < wanted:
                break
            older_than = rows[-1]["created_at"], rows[-1]["entry_id"]
            wanted = max(limit - len(found), AT_ONCE)
        found = found[: max(0, limit)]
        await self.record_reading(user_key, len(found))
        return found

    async def add_feedback(self, user_id: str, entry_id: UUID, feedback: Mapping[str, Any]) -> MemoryRecord | None:
        """Redact `feedback` and add it to one memory of `user_id`; return that, or None if there is none of that id.

        Raises:
            InvalidUserError: `user_id` can't be used.
            InvalidRecordError: It is no JSON.
            FeedbackLimitError: It has `MAX_FEEDBACK` of them; nothing was added.
            StorageError: Nothing was added.
            EncryptionError: It is sealed, and its key is not known.
        """
        user_key = self._key_of(check_user_id(user_id))
        redacted = await asyncio.to_thread(redacted_feedback, feedback, self._redactor)
        async with self._locked(user_key) as cursor:
            record = await append_feedback(cursor, user_key, entry_id, redacted, self._rules.sealer)
            if record is not None:
                await self._tell(cursor, "memory.write", user_key, {"feedback": 1})
            return record

    async def delete(self, user_id: str, entry_id: UUID) -> bool:
        """Delete one memory of `user_id`; False if there is none of that id.

        Raises:
            InvalidUserError: `user_id` can't be used.
            StorageError: Nothing was deleted.
        """
        user_key = self._key_of(check_user_id(user_id))
        async with self._locked(user_key) as cursor:
            is_gone = await delete_one(cursor, user_key, entry_id, self._rules)
            if is_gone:
                await self._tell(cursor, "memory.delete", user_key, {"memories": 1})
            return is_gone

    async def delete_many(self, user_id: str, filters: MemoryFilters) -> int:
        """Delete the memories of `user_id` that `filters` select, superseded ones too; return how many.

        `MemoryFilters()` selects all of them.

        Raises:
            InvalidUserError: `user_id` can't be used.
            StorageError: Nothing was deleted.
        """
        user_key = self._key_of(check_user_id(user_id))
        filters = self._asked(filters)
        async with self._locked(user_key) as cursor:
            gone = await delete_where(cursor, user_key, filters, self._rules)
            if gone:
                await self._tell(cursor, "memory.delete", user_key, {"memories": gone})
            return gone

    async def delete_entries(self, user_key: UUID, entry_ids: Sequence[UUID]) -> int:
        """Delete memories of whom the database knows by `user_key`, by their ids; return how many.

        Raises:
            StorageError: Nothing was deleted.
        """
        async with self._locked(user_key) as cursor:
            gone = await delete_entries(cursor, user_key, entry_ids, self._rules)
            if gone:
                await self._tell(cursor, "memory.delete", user_key, {"memories": gone})
            return gone

    async def forget(
        self,
        user_id: str,
        what: UUID | str,
        *,
        only: bool = False,
        facts: bool = False,
        asking: ForgetRequest | None = None,
        dry_run: bool = False,
    ) -> Forgotten | None:
        """Delete one memory of `user_id` and all that tells it, see `Memories.forget`; None if there is none of that id.

        `what` is its entry_id, or a text: then all that tells this goes, facts only with `facts`.

        Rounds of the user's other threads are found in the conversation log, among the last `LOOK_BACK`. With `dry_run` nothing
        is deleted.

        Raises:
            InvalidUserError: `user_id` can't be used.
            StorageError: Nothing was deleted.
        """
        user_key = self._key_of(check_user_id(user_id))
        asking = asking or ForgetRequest()
        marks = asking.request_id is not None  # which prompts may not tell the round that asks
        if isinstance(what, UUID):
            async with self._locked(user_key, adds=marks, dry_run=dry_run) as cursor:
                gone = await forget_entry(cursor, user_key, what, self._rules, only=only, asking=asking)
                await self._tell_forgotten(cursor, user_key, gone)
            return gone
        text = await asyncio.to_thread(self._redactor.redact, storable(what))
        async with self._locked(user_key, adds=marks, dry_run=dry_run) as cursor:
            gone = await forget_text(cursor, user_key, text, self._rules, facts=facts, asking=asking)
            await self._tell_forgotten(cursor, user_key, gone)
        return gone

    async def forgotten(self, user_id: str, thread_id: str) -> frozenset[str]:
        """Return the request_ids of the rounds of a thread that no prompt may tell any more.

        Raises:
            InvalidUserError: `user_id` can't be used.
            StorageError: The database failed.
        """
        thread_id = self._rules.keys.ids.thread_id(thread_id, stores=False)
        asked = {"user_key": self._key_of(check_user_id(user_id)), "thread_key": digest(thread_id)}
        with storage_errors():
            async with self._pool.connection() as conn, conn.cursor(binary=True) as cursor:
                rows = await (await cursor.execute(MARKED, asked)).fetchall()
        return frozenset(row["request_id"] for row in rows)

    async def close(self) -> None:
        """Write how often memories were found. The pool must still be open."""
        await self._usage.close()

    async def record_reading(self, user_key: UUID, memories: int) -> None:
        """Have the audit trail know that somebody reads memories of a user who is somebody else.

        Raises:
            StorageError: It can't be written: they must not be handed out.
        """
        await self._audit.record_reading("memory.read", user_key=user_key, data="memory", counts={"memories": memories})

    async def _tell(self, cursor: Cursor, action: str, user_key: UUID, counts: Mapping[str, int]) -> None:
        """Have the audit trail know what is done in the transaction of `cursor`."""
        await self._audit.record_in(cursor, action, user_key=user_key, data="memory", counts=counts)

    async def _tell_forgotten(self, cursor: Cursor, user_key: UUID, gone: Forgotten | None) -> None:
        if gone is not None:
            counts = {"memories": len(gone.facts) + len(gone.told), "rounds": len(gone.rounds)}
            await self._tell(cursor, "memory.forget", user_key, counts)

    @asynccontextmanager
    async def _locked(self, user_key: UUID, *, adds: bool = False, dry_run: bool = False) -> AsyncIterator[Cursor]:
        """Yield a cursor in a transaction that keeps other writers of the user waiting; with `dry_run` it is undone."""
        with storage_errors():
            async with self._locks.locked([user_key], adds=adds) as locked:
                yield locked.cursor
                if dry_run:
                    raise Rollback

    def _asked(self, filters: MemoryFilters) -> MemoryFilters:
        """Return filters with what they name as it is stored."""
        return with_stored_threads(redacted_filters(filters, self._redactor), self._rules.keys.ids)

    async def _rows(self, query: Search) -> list[dict[str, Any]]:
        with storage_errors():
            async with self._pool.connection() as conn, conn.cursor(binary=True) as cursor:
                return await (await cursor.execute(query.statement, query.parameters)).fetchall()

    def _scored(self, rows: Sequence[dict[str, Any]]) -> list[ScoredMemory]:
        """Return what was found, but for what can't be opened."""
        found = {row["entry_id"]: row for row in rows}
        return [
            ScoredMemory.trusted(
                {"record": record, "score": row["score"], "similarity": self._similarity(row["cosine"])}
            )
            for record in readable(rows, self._rules.sealer)
            if (row := found[record.entry_id])
        ]

    def _similarity(self, cosine: float | None) -> float:
        return 0.0 if cosine is None else self._rules.space.calibration.similarity(cosine)
