"""List checkpoints page by page.

LangGraph's savers keep a connection, and all that was found, while their caller works on each item: enough of them at
once wait for each other's connections. A page is read whole, its connection given back, and then handed out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

PAGE_SIZE = 32


class Pages:
    """The pages of one listing, newest first."""

    def __init__(self, before: RunnableConfig | None, limit: int | None, size: int = PAGE_SIZE) -> None:
        """Begin below `before`; hand out at most `limit` in all."""
        self._before = before
        self._left = limit
        self._size = size
        self.done = limit is not None and limit <= 0

    def ask(self) -> dict[str, Any]:
        """Return the arguments of the next page's query."""
        limit = self._size if self._left is None else min(self._left, self._size)
        return {"before": self._before, "limit": limit}

    def take(self, page: Sequence[CheckpointTuple]) -> Sequence[CheckpointTuple]:
        """Return what to hand out of `page`.

        Copies of a thread share their ids, so the last id of a page may go on on the next one: it is asked for again.
        """
        if self._left is not None and self._left <= self._size:
            self.done = True
            return page
        if len(page) < self._size:
            self.done = True
            return page
        last = page[-1].checkpoint["id"]
        ready = [item for item in page if item.checkpoint["id"] != last]
        if not ready:
            self._size *= 2
            return []
        if self._left is not None:
            self._left -= len(ready)
        self._before = {"configurable": {"checkpoint_id": ready[-1].checkpoint["id"]}}
        return ready
