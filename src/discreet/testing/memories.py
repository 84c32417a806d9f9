"""Long-term memory and conversation log in RAM, for tests and for graphs that try things out."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from discreet.ports import EmbeddingProvider, TextRedactor
from discreet.redaction import Redactor
from discreet.retrieval.tokens import tokens
from discreet.state.context import check_user_id
from discreet.state.records import MemoryFilters, MemoryRecord, ScoredMemory, TurnRecord
from discreet.testing.embeddings import StubEmbeddings

LEXICAL_WEIGHT = 0.4
"""Of the score; the rest is the similarity of the vectors. The weights of the real search."""


@dataclass(frozen=True)
class _Kept:
    record: MemoryRecord
    vector: list[float]
    words: frozenset[str]


class InMemoryMemories:
    """The port `Memories` without a database: redacts, keeps users apart, filters and ranks like the real one.

    It does not merge duplicates and never evicts.

    Example:
        >>> import asyncio
        >>> memories = InMemoryMemories()
        >>> _ = asyncio.run(memories.save("ann", [MemoryRecord(text="Ann keeps two parrots")]))
        >>> [hit.record.text for hit in asyncio.run(memories.search("ann", "parrot"))]
        ['Ann keeps two parrots']
    """

    def __init__(self, *, embeddings: EmbeddingProvider | None = None, redactor: TextRedactor | None = None) -> None:
        """Embed by `embeddings` (default: `StubEmbeddings`), redact by `redactor` (default: the product's own)."""
        self._embeddings = embeddings or StubEmbeddings()
        self._redactor = redactor or Redactor()
        self._kept: defaultdict[str, dict[UUID, _Kept]] = defaultdict(dict)

    async def save(self, user_id: str, records: Sequence[MemoryRecord]) -> list[MemoryRecord]:
        """Redact, embed and store `records`; a turn replaces the one at its place in the thread."""
        check_user_id(user_id)
        redacted = [r.model_copy(update={"text": self._redactor.redact(r.text)}) for r in records]
        vectors = await self._embeddings.aembed_documents([record.text for record in redacted])
        kept = self._kept[user_id]
        stored = []
        for given, vector in zip(redacted, vectors, strict=True):
            record = given.model_copy(update={"entry_id": self._entry_id(user_id, given)})
            kept[record.entry_id] = _Kept(record, vector, frozenset(tokens(record.text)))
            stored.append(record)
        return stored

    async def search(
        self,
        user_id: str,
        query: str,
        *,
        limit: int = 5,
        threshold: float | None = None,
        filters: MemoryFilters | None = None,
    ) -> list[ScoredMemory]:
        """Return at most `limit` memories that hold now, best first; a shared word is exempt from `threshold`."""
        check_user_id(user_id)
        if not query.strip():
            return []
        vector, words = await self._embeddings.aembed_query(query), frozenset(tokens(query))
        found = []
        for kept in self._kept[user_id].values():
            if not _matches(kept.record, filters or MemoryFilters()):
                continue
            cosine = math.fsum(a * b for a, b in zip(vector, kept.vector, strict=True))
            similarity = self._embeddings.calibration.similarity(cosine)
            overlap = len(words & kept.words) / len(words) if words else 0.0
            if overlap or similarity >= (threshold or 0.0):
                score = LEXICAL_WEIGHT * overlap + (1 - LEXICAL_WEIGHT) * similarity
                found.append(ScoredMemory(record=kept.record, score=score, similarity=similarity))
        return sorted(found, key=lambda hit: hit.score, reverse=True)[:limit]

    async def delete(self, user_id: str, entry_id: UUID) -> bool:
        """Delete one memory of `user_id`; False if there is none of that id."""
        check_user_id(user_id)
        return self._kept[user_id].pop(entry_id, None) is not None

    def _entry_id(self, user_id: str, record: MemoryRecord) -> UUID:
        """Return the id that `record` is stored under: that of the turn it replaces, else its own."""
        place = (record.thread_id, record.position)
        turns = (kept.record for kept in self._kept[user_id].values() if kept.record.type == record.type == "turn")
        return next((t.entry_id for t in turns if (t.thread_id, t.position) == place), record.entry_id)


class InMemoryConversationLog:
    """The port `ConversationLog` without a database."""

    def __init__(self) -> None:
        self.turns: list[TurnRecord] = []
        """What was appended, oldest first."""

    async def append(self, turn: TurnRecord) -> bool:
        """Keep one turn; False if its `request_id` was kept before."""
        if any(kept.request_id == turn.request_id for kept in self.turns):
            return False
        self.turns.append(turn)
        return True


def _matches(record: MemoryRecord, filters: MemoryFilters) -> bool:
    """Return whether `record` holds now and every filter given lets it pass."""
    equal = all(
        wanted in (None, value)
        for wanted, value in (
            (filters.app_name, record.app_name),
            (filters.thread_id, record.thread_id),
            (filters.agent_id, record.agent_id),
        )
    )
    return (
        equal
        and (filters.types is None or record.type in filters.types)
        and set(filters.tags or ()) <= set(record.tags)
        and (filters.after is None or record.created_at >= filters.after)
        and (filters.before is None or record.created_at < filters.before)
        and (record.valid_to is None or record.valid_to > datetime.now(UTC))
    )
