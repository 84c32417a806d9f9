"""Long-term memory and the conversation log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from discreet.ports.short_term import Round, ShortTermStore
from discreet.state.records import MemoryFilters, MemoryRecord, PageMark, ScoredMemory, TurnRecord


@dataclass(frozen=True, kw_only=True)
class ForgetRequest:
    """The turn that asks to forget, and its thread, as far as the caller of `Memories.forget` knows them."""

    thread_id: str | None = None
    request_id: str | None = None
    """The turn's: it names what is forgotten, so its round goes with the others."""
    asked: str = field(default="", repr=False)
    """The user's words in that turn. What was made of conversations tells much else, so these say what is meant of it."""
    rounds: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What was said and answered in earlier turns, by their request_ids."""
    tags: Mapping[str, frozenset[str]] = field(default_factory=dict, repr=False)
    """The tagged placeholders in each of these turns and in the one that asks: they tell which rounds have the same value."""


@dataclass(frozen=True, kw_only=True)
class Forgotten:
    """What `Memories.forget` took."""

    facts: list[MemoryRecord]
    """What was asked for first, then what was split from the same statement, and former versions. None for a text."""
    told: list[MemoryRecord]
    """Turns and summaries of conversations that told it."""
    rounds: frozenset[tuple[str, str]]
    """thread_id and request_id of the rounds that told it, without the one that asks to forget."""
    still: list[MemoryRecord]
    """Current memories that share words with it, newest first: they stay, and may be about the same thing."""


class Memories(Protocol):
    """Long-term memory of all users; every call is scoped to one."""

    @property
    def semantic(self) -> bool:
        """Whether search compares meanings too, not words alone."""
        ...

    async def save(self, user_id: str, records: Sequence[MemoryRecord], *, dedup: bool = True) -> list[MemoryRecord]:
        """Redact, embed and store `records` in one transaction; return them as stored.

        Each becomes a record of its own without `dedup`: none is taken for what is known already, and none is replaced.

        Raises:
            InvalidUserError: `user_id` can't be used.
            EntryExistsError: Without `dedup` there is a record of that id; nothing was stored.
            StorageError: Nothing was stored.
        """
        ...

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
        """Return at most `limit` memories of `user_id`, best first. A blank query finds nothing.

        `threshold` applies to the calibrated similarity; a memory that shares a word with the query is exempt.

        Where the person has at most `few` current facts, all of them are returned beside these `limit`, near or not: behind what
        was found, nearest first. Turns and summaries are no facts.
        """
        ...

    async def get(self, user_id: str, entry_id: UUID) -> MemoryRecord | None:
        """Return one memory of `user_id`, superseded or not; None if there is none of that id."""
        ...

    async def latest(
        self,
        user_id: str,
        *,
        limit: int = 50,
        filters: MemoryFilters | None = None,
        older_than: UUID | PageMark | None = None,
        held: bool = True,
    ) -> list[MemoryRecord]:
        """Return at most `limit` memories of `user_id`, newest first, after the entry `older_than` if given.

        Without `held`, superseded ones too.
        """
        ...

    async def add_feedback(self, user_id: str, entry_id: UUID, feedback: Mapping[str, Any]) -> MemoryRecord | None:
        """Redact `feedback` and add it to one memory of `user_id`; return that, or None if there is none of that id.

        Raises:
            InvalidRecordError: It is no JSON.
            FeedbackLimitError: It has `MAX_FEEDBACK` of them; nothing was added.
            StorageError: Nothing was added.
        """
        ...

    async def delete(self, user_id: str, entry_id: UUID) -> bool:
        """Delete one memory of `user_id`; False if there is none of that id."""
        ...

    async def forget(
        self, user_id: str, what: UUID | str, *, only: bool = False, asking: ForgetRequest | None = None
    ) -> Forgotten | None:
        """Delete one memory of `user_id` and all that tells it; None, and nothing is done, if there is none of that id.

        With it go its former versions, what `save_memory` kept of the same turn unless `only` this is meant, and the turns
        and summaries of conversations that tell any of these, or were made of a round that does. Those rounds, and the
        running one, are `forgotten` from then on. All of it happens, or nothing.

        Where `what` is a text, which may have been said and never kept, the same goes but for facts: those that tell it
        are `still` there.

        Raises:
            StorageError: Nothing was deleted.
        """
        ...

    async def forgotten(self, user_id: str, thread_id: str) -> frozenset[str]:
        """Return the request_ids of the rounds of a thread that no prompt may tell any more."""
        ...

    async def delete_many(self, user_id: str, filters: MemoryFilters) -> int:
        """Delete the memories of `user_id` that `filters` select, superseded ones too; return how many."""
        ...


class LoadsFirst(Protocol):
    """Memories that load something in the background, such as an embedding model. It is no part of a search, nor of its time limit."""

    async def ready(self) -> None:
        """Wait until it is loaded, for some seconds at most. What went wrong is what the search says."""
        ...


class ConversationLog(Protocol):
    """The redacted turns and the sessions they belong to."""

    async def append(self, turn: TurnRecord) -> bool:
        """Store one turn and touch its session record; False if it took the place of the same request's.

        A message is answered anew under the request_id that it had: the later answer stands.
        """
        ...

    async def end_session(self, user_id: str | None, thread_id: str) -> bool:
        """Note that the user has ended a session, until they say more in it; False if nothing was ever said there."""
        ...

    async def read(
        self,
        user_id: str | None,
        *,
        thread_id: str | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        limit: int = 100,
    ) -> list[TurnRecord]:
        """Return at most `limit` turns of a user, oldest first: those begun at or after `after`, and before `before`."""
        ...


class LogsRounds(ConversationLog, Protocol):
    """A log that keeps a turn and its round of the session in one round trip."""

    def logs_with(self, short_term: object) -> bool:
        """Return whether `append_with_round` takes these sessions: they are in the same database."""
        ...

    async def append_with_round(self, turn: TurnRecord, said: Round, short_term: ShortTermStore) -> bool:
        """Do what `ConversationLog.append` and `ShortTermStore.append_round` do, both or neither; return what the first does."""
        ...
