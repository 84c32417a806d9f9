"""Long-term memory and conversation log in RAM, for tests and for graphs that try things out."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from discreet.errors import EntryExistsError, FeedbackLimitError
from discreet.ports import (
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
from discreet.redaction import Redactor
from discreet.redaction.records import redacted_feedback, redacted_record
from discreet.retrieval.dedup import DedupThresholds
from discreet.retrieval.dedup_resolution import CONSOLIDATED, Nearness, settle
from discreet.retrieval.forgetting import DERIVED, OTHERS, LoggedRound, are_siblings, forget, superseded_by
from discreet.retrieval.tokens import tokens
from discreet.state.ids import check_user_id
from discreet.state.records import (
    MAX_FEEDBACK,
    PAST_TYPES,
    MemoryFilters,
    MemoryRecord,
    PageMark,
    ScoredMemory,
    TurnRecord,
)
from discreet.state.text import storable
from discreet.testing.embeddings import StubEmbeddings
from discreet.testing.short_term import InMemoryShortTermStore
from discreet.testing.summaries import InMemoryRollingSummaries

LEXICAL_WEIGHT = 0.45
"""Of the score; the rest is the similarity of the vectors. The weights of the real search."""


@dataclass(frozen=True)
class _Kept:
    record: MemoryRecord
    vector: list[float]
    words: frozenset[str]


class InMemoryMemories:
    """The port `Memories` without a database: redacts, consolidates, keeps users apart, filters and ranks like the real one.

    It never evicts, and its order is a simpler one: the share of the question's words and the similarity of vectors.

    Example:
        >>> import asyncio
        >>> memories = InMemoryMemories()
        >>> _ = asyncio.run(memories.save("ann", [MemoryRecord(text="Ann keeps two parrots")]))
        >>> [hit.record.text for hit in asyncio.run(memories.search("ann", "parrot"))]
        ['Ann keeps two parrots']
    """

    def __init__(
        self,
        *,
        embeddings: EmbeddingProvider | None = None,
        redactor: TextRedactor | None = None,
        thresholds: DedupThresholds | None = None,
        log: InMemoryConversationLog | None = None,
    ) -> None:
        """Embed by `embeddings` (default: `StubEmbeddings`), redact by `redactor` (default: the product's own).

        What tells a forgotten fact is looked for in `log` too.
        """
        self._embeddings = embeddings or StubEmbeddings()
        self.semantic = is_semantic(self._embeddings)
        self._redactor = redactor or Redactor()
        self._thresholds = thresholds or DedupThresholds()
        self._kept: defaultdict[str, dict[UUID, _Kept]] = defaultdict(dict)
        self._log = log
        self._forgotten: defaultdict[tuple[str, str], set[str]] = defaultdict(set)

    async def save(self, user_id: str, records: Sequence[MemoryRecord], *, dedup: bool = True) -> list[MemoryRecord]:
        """Redact, embed, consolidate and store `records`; without `dedup` each becomes a record of its own."""
        user_id = check_user_id(user_id)
        kept = self._kept[user_id]
        redacted = [redacted_record(record, self._redactor) for record in records]
        vectors = await self._embeddings.aembed_documents([record.text for record in redacted])
        nearness = Nearness(
            stored={
                n: {entry_id: self._similarity(vector, old.vector) for entry_id, old in kept.items()}
                for n, vector in enumerate(vectors)
            },
            batch={
                n: {m: self._similarity(vector, other) for m, other in enumerate(vectors) if m != n}
                for n, vector in enumerate(vectors)
            },
        )
        if not dedup:
            new = {record.entry_id for record in redacted}
            if len(new) < len(redacted) or new & kept.keys():
                raise EntryExistsError
            nearness = Nearness()
        met = [old.record for old in kept.values()]
        settled = settle(redacted, met, nearness=nearness, thresholds=self._thresholds)
        for entry_id in settled.changed:
            kept[entry_id] = replace(kept[entry_id], record=settled.records[entry_id])
        for entry_id, position in settled.written.items():
            record = settled.records[entry_id]
            kept[entry_id] = _Kept(record, vectors[position], frozenset(tokens(record.text)))
        return [settled.records[entry_id] for entry_id in settled.results]

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
        """Return at most `limit` memories, best first; a shared word is exempt from `threshold`.

        Where there are at most `few` facts, those that were not found follow.
        """
        user_id = check_user_id(user_id)
        if not query.strip():
            return []
        vector, words = await self._embeddings.aembed_query(query), frozenset(tokens(query))
        matching = self._matching(user_id, filters)
        facts = [kept.record.entry_id for kept in matching if kept.record.type in CONSOLIDATED]
        told = frozenset(facts) if len(facts) <= few else frozenset()
        found: list[ScoredMemory] = []
        others: list[ScoredMemory] = []
        for kept in matching:
            similarity = self._similarity(vector, kept.vector)
            overlap = len(words & kept.words) / len(words) if words else 0.0
            score = LEXICAL_WEIGHT * overlap + (1 - LEXICAL_WEIGHT) * similarity
            hit = ScoredMemory(record=kept.record, score=score, similarity=similarity)
            (found if overlap or similarity >= (threshold or 0.0) else others).append(hit)
        best_first = sorted(found, key=_by_score, reverse=True)
        others += best_first[max(0, limit) :]
        besides = [hit for hit in others if hit.record.entry_id in told]
        return best_first[: max(0, limit)] + sorted(besides, key=_by_score, reverse=True)

    async def get(self, user_id: str, entry_id: UUID) -> MemoryRecord | None:
        """Return one memory of `user_id`, superseded or not; None if there is none of that id."""
        user_id = check_user_id(user_id)
        kept = self._kept[user_id].get(entry_id)
        return None if kept is None else kept.record

    async def latest(
        self,
        user_id: str,
        *,
        limit: int = 50,
        filters: MemoryFilters | None = None,
        older_than: UUID | PageMark | None = None,
        held: bool = True,
    ) -> list[MemoryRecord]:
        """Return at most `limit` memories, newest first, after the entry `older_than` if given."""
        user_id = check_user_id(user_id)
        kept = self._kept[user_id]
        records = sorted((k.record for k in self._matching(user_id, filters, held=held)), key=_newest_first)
        if isinstance(older_than, UUID):
            last = kept.get(older_than)
            if last is None:
                return []
            older_than = last.record.created_at, older_than
        if older_than is not None:
            records = [r for r in records if (r.created_at, r.entry_id) < older_than]
        return records[: max(0, limit)]

    async def add_feedback(self, user_id: str, entry_id: UUID, feedback: Mapping[str, Any]) -> MemoryRecord | None:
        """Redact and add feedback to one memory; None if there is none of that id."""
        user_id = check_user_id(user_id)
        kept = self._kept[user_id].get(entry_id)
        if kept is None:
            return None
        if len(kept.record.feedback) >= MAX_FEEDBACK:
            raise FeedbackLimitError
        redacted = redacted_feedback(feedback, self._redactor)
        record = kept.record.model_copy(update={"feedback": [*kept.record.feedback, redacted]})
        self._kept[user_id][entry_id] = replace(kept, record=record)
        return record

    async def delete(self, user_id: str, entry_id: UUID) -> bool:
        """Delete one memory of `user_id`; False if there is none of that id."""
        user_id = check_user_id(user_id)
        return self._kept[user_id].pop(entry_id, None) is not None

    async def forget(
        self, user_id: str, what: UUID | str, *, only: bool = False, asking: ForgetRequest | None = None
    ) -> Forgotten | None:
        """Delete one memory and all that tells it, or all that tells a text; None if there is none of that id."""
        asking = asking or ForgetRequest()
        user_id = check_user_id(user_id)
        records = {each: kept.record for each, kept in self._kept[user_id].items()}
        facts: list[MemoryRecord] = []
        if isinstance(what, UUID):
            entry = records.get(what)
            if entry is None:
                return None
            facts = [entry]
            if not only:
                facts += [each for each in records.values() if each is not entry and are_siblings(each, entry)]
        while former := superseded_by(facts, records.values()):
            facts += former
        turns = [] if self._log is None else [turn for turn in self._log.turns if turn.user_id == user_id]
        gone = forget(
            facts,
            text="" if isinstance(what, UUID) else self._redactor.redact(storable(what)),
            asking=asking,
            logged=[LoggedRound(t.thread_id, t.request_id, f"{t.input_text}\n{t.output_text}") for t in turns],
            derived=[record for record in records.values() if record.type in DERIVED],
            others=await self.latest(user_id, limit=len(records), filters=MemoryFilters(types=list(OTHERS))),
        )
        for record in (*gone.facts, *gone.told):
            del self._kept[user_id][record.entry_id]
        for thread_id, request_id in (*gone.rounds, (asking.thread_id, asking.request_id)):
            if thread_id and request_id:
                self._forgotten[user_id, thread_id].add(request_id)
        return gone

    async def forgotten(self, user_id: str, thread_id: str) -> frozenset[str]:
        """Return the request_ids of the rounds of a thread that no prompt may tell any more."""
        user_id = check_user_id(user_id)
        return frozenset(self._forgotten.get((user_id, thread_id), ()))

    def opens_with(self, *stores: object) -> bool:
        """Return whether `open_turn` takes these sessions and summaries: they are in RAM, too."""
        return all(isinstance(each, (InMemoryShortTermStore, InMemoryRollingSummaries)) for each in stores)

    async def open_turn(
        self,
        user_id: str,
        thread_id: str | None,
        asked: MemoryQuery | None = None,
        *,
        short_term: ShortTermStore | None = None,
        summaries: RollingSummaries | None = None,
    ) -> OpenedTurn:
        """Search, where something is `asked`, and read what else a turn needs."""
        if short_term is not None and thread_id is not None:
            await short_term.touch(user_id, thread_id)
        found = (
            []
            if asked is None
            else await self.search(
                user_id, asked.query, limit=asked.limit, threshold=asked.threshold, filters=asked.filters, few=asked.few
            )
        )
        return OpenedTurn(
            began=None,
            forgotten=frozenset() if thread_id is None else await self.forgotten(user_id, thread_id),
            summary=None if summaries is None or thread_id is None else await summaries.get(user_id, thread_id),
            found=found,
        )

    async def delete_many(self, user_id: str, filters: MemoryFilters) -> int:
        """Delete what `filters` select, superseded or not; return how many."""
        user_id = check_user_id(user_id)
        gone = [kept.record.entry_id for kept in self._matching(user_id, filters, held=False)]
        for entry_id in gone:
            del self._kept[user_id][entry_id]
        return len(gone)

    def _matching(self, user_id: str, filters: MemoryFilters | None, *, held: bool = True) -> list[_Kept]:
        wanted = filters or MemoryFilters()
        return [kept for kept in self._kept[user_id].values() if matches(kept.record, wanted, held=held)]

    def _similarity(self, one: Sequence[float], other: Sequence[float]) -> float:
        return self._embeddings.calibration.similarity(math.fsum(a * b for a, b in zip(one, other, strict=True)))


class InMemoryConversationLog:
    """The port `ConversationLog` without a database."""

    def __init__(self) -> None:
        self.turns: list[TurnRecord] = []
        """What was appended, oldest first."""
        self.ended: set[tuple[str | None, str]] = set()
        """Sessions that were ended, and in which nothing was said since."""

    async def append(self, turn: TurnRecord) -> bool:
        """Keep one turn; False if it took the place of the same request's."""
        for position, kept in enumerate(self.turns):
            if kept.request_id == turn.request_id:
                self.turns[position] = turn
                return False
        self.turns.append(turn)
        self.ended.discard((turn.user_id, turn.thread_id))
        return True

    async def end_session(self, user_id: str | None, thread_id: str) -> bool:
        """Note that a session has ended; False if nothing was ever said there."""
        if not any((turn.user_id, turn.thread_id) == (user_id, thread_id) for turn in self.turns):
            return False
        self.ended.add((user_id, thread_id))
        return True

    async def read(
        self,
        user_id: str | None,
        *,
        thread_id: str | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        limit: int = 100,
    ) -> list[TurnRecord]:
        """Return at most `limit` turns of a user, oldest first."""
        found = [
            turn
            for turn in self.turns
            if turn.user_id == user_id
            and thread_id in (None, turn.thread_id)
            and (after is None or turn.started_at >= after)
            and (before is None or turn.started_at < before)
        ]
        return sorted(found, key=lambda turn: turn.started_at)[: max(0, limit)]


def matches(record: MemoryRecord, filters: MemoryFilters, *, held: bool) -> bool:
    """Return whether every filter given lets `record` pass, and if it must be `held`, whether it holds."""
    equal = all(
        wanted in (None, value)
        for wanted, value in (
            (filters.thread_id, record.thread_id),
            (filters.agent_id, record.agent_id),
            (filters.request_id, record.request_id),
        )
    )
    return (
        equal
        and (filters.app_name is None or record.app_name in (filters.app_name, *(filters.shared_apps or ())))
        and (filters.running_thread is None or not _told_in(filters.running_thread, record))
        and (filters.types is None or record.type in filters.types)
        and set(filters.tags or ()) <= set(record.tags)
        and (filters.after is None or record.created_at >= filters.after)
        and (filters.before is None or record.created_at < filters.before)
        and (_held_at(record, filters.as_of) if held or filters.as_of else True)
    )


def _told_in(thread_id: str, record: MemoryRecord) -> bool:
    """Return whether `record` is a turn or a summary of this conversation."""
    return record.type in PAST_TYPES and record.thread_id == thread_id


def _held_at(record: MemoryRecord, as_of: datetime | None) -> bool:
    """Return whether `record` held then; None: whether it holds now, since whenever."""
    if as_of is not None and (record.valid_from or record.created_at) > as_of:
        return False
    return record.valid_to is None or record.valid_to > (as_of or datetime.now(UTC))


def _by_score(hit: ScoredMemory) -> float:
    return hit.score


def _newest_first(record: MemoryRecord) -> tuple[float, int]:
    return -record.created_at.timestamp(), -record.entry_id.int
