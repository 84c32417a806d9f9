"""What a turn needs to know before its model is asked, read at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from discreet.ports.short_term import ShortTermStore
from discreet.ports.summaries import RollingSummaries, RollingSummary
from discreet.state.records import MemoryFilters, ScoredMemory


@dataclass(frozen=True, kw_only=True)
class MemoryQuery:
    """What `Memories.search` takes, see there."""

    query: str = field(repr=False)
    limit: int = 5
    threshold: float | None = None
    filters: MemoryFilters | None = None
    few: int = 0


@dataclass(frozen=True, kw_only=True)
class OpenedTurn:
    """What was read."""

    began: str | None
    """What the turn's work is known by, see `BeginsWork`; None if the memories don't know."""
    forgotten: frozenset[str]
    """See `Memories.forgotten`."""
    summary: RollingSummary | None = None
    """Of the thread, where that was asked for."""
    found: Sequence[ScoredMemory] = ()
    """Best first."""


class OpensTurns(Protocol):
    """Memories that read what a turn needs in one round trip. A graph asks other memories for each by itself."""

    def opens_with(self, *stores: object) -> bool:
        """Return whether `open_turn` takes these sessions and summaries: they are in the same database."""
        ...

    async def open_turn(
        self,
        user_id: str,
        thread_id: str | None,
        asked: MemoryQuery | None = None,
        *,
        short_term: ShortTermStore | None = None,
        summaries: RollingSummaries | None = None,
    ) -> OpenedTurn:
        """Search, where something is `asked`, and read what else the turn needs of a user and a thread.

        `short_term` has the session touched, `summaries` the rolling summary read.

        Raises:
            InvalidUserError: `user_id` can't be used.
            ProviderError: The embedding model failed.
            StorageError: The database failed.
        """
        ...
