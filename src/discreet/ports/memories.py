"""Long-term memory and the conversation log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from uuid import UUID

from discreet.state.records import MemoryFilters, MemoryRecord, PageMark, ScoredMemory, TurnRecord


class Memories(Protocol):
    """Long-term memory of all users; every call is scoped to one."""

    @property
    def semantic(self) -> bool:
        """Whether search compares meanings too, not words alone."""
        ...

    async def save(self, user_id: str, records: Sequence[MemoryRecord], *, apart: bool = False) -> list[MemoryRecord]:
        """Redact, embed and store `records` in one transaction; return them as stored.

        Each becomes a record of its own with `apart`: none is taken for what is known already, and none is replaced.

        Raises:
            InvalidUserError: `user_id` can't be used.
            EntryExistsError: With `apart` there is a record of that id; nothing was stored.
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
            FeedbackLimitError: It has `MAX_FEEDBACK` of them; nothing was added.
            StorageError: Nothing was added.
        """
        ...

    async def delete(self, user_id: str, entry_id: UUID) -> bool:
        """Delete one memory of `user_id`; False if there is none of that id."""
        ...

    async def delete_many(self, user_id: str, filters: MemoryFilters) -> int:
        """Delete the memories of `user_id` that `filters` select, superseded ones too; return how many."""
        ...


class ConversationLog(Protocol):
    """The redacted turns and the sessions they belong to."""

    async def append(self, turn: TurnRecord) -> bool:
        """Store one turn and touch its session record; False if `request_id` was stored before."""
        ...
