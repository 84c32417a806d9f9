"""See what is searched inside a turn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

from discreet.api.playground.turn import Search, Turn
from discreet.ports import Memories
from discreet.state.records import ScoredMemory

_watched: ContextVar[Turn | None] = ContextVar("discreet_playground_turn", default=None)


@contextmanager
def watched(turn: Turn) -> Iterator[None]:
    """Note what is searched in this block for `turn`."""
    token = _watched.set(turn)
    try:
        yield
    finally:
        _watched.reset(token)


class WatchedMemories:
    """Memories whose searches are noted for the turn that makes them; all else is passed on."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memories, name)

    async def search(
        self, user_id: str, query: str, *, limit: int = 5, threshold: float | None = None, **options: Any
    ) -> list[ScoredMemory]:
        """Return what the memories find, see `Memories.search`."""
        hits = await self._memories.search(user_id, query, limit=limit, threshold=threshold, **options)
        if (turn := _watched.get()) is not None:
            search = Search(question=query, limit=limit, threshold=threshold or 0.0, hits=hits, by_tool=turn.asked > 0)
            turn.searches.append(search)
        return hits


def watching(memories: Memories) -> Memories:
    """Return `memories`, whose searches are noted inside of `watched`."""
    return cast("Memories", WatchedMemories(memories))
