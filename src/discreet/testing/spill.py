"""Spill stores in RAM, for tests that let one process pause a turn and another resume it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from discreet.checkpoint.spill import Spilled, Version


class InMemorySyncSpill:
    """The protocol `SyncSpillStore` without a database, thread-safe. Nothing is sealed: nothing leaves the process.

    Savers that share one are like processes that share a database.
    """

    def __init__(self, *, ttl_seconds: float = 3600, clock: Callable[[], float] = time.monotonic) -> None:
        """Keep each turn for `ttl_seconds` of `clock`."""
        self._ttl_seconds = ttl_seconds
        self._clock = clock
        self._kept: dict[str, tuple[Spilled, float]] = {}
        self._lock = threading.Lock()

    def setup(self) -> None:
        """Do nothing: there is nothing to create."""

    def save(self, thread_id: str, spilled: Spilled) -> bool:
        """Keep `spilled` instead of an older version; False if a newer one is there."""
        with self._lock:
            self._expire()
            kept = self._kept.get(thread_id)
            if kept is not None and kept[0].version > spilled.version:
                return False
            self._kept[thread_id] = (spilled, self._clock() + self._ttl_seconds)
            return True

    def load(self, thread_id: str) -> Spilled | None:
        """Return the paused turn, unless its time is over."""
        with self._lock:
            self._expire()
            kept = self._kept.get(thread_id)
            return kept[0] if kept else None

    def generation(self, thread_id: str) -> Version | None:
        """Return the version of the paused turn."""
        spilled = self.load(thread_id)
        return spilled.version if spilled else None

    def drop(self, thread_ids: Sequence[str], *, upto: str | None = None) -> None:
        """Forget these threads' turns, or those whose head is not newer than `upto`."""
        with self._lock:
            for thread_id in thread_ids:
                kept = self._kept.get(thread_id)
                if kept is not None and (upto is None or kept[0].head <= upto):
                    del self._kept[thread_id]

    def _expire(self) -> None:
        now = self._clock()
        for thread_id in [thread_id for thread_id, (_, deadline) in self._kept.items() if deadline <= now]:
            del self._kept[thread_id]


class InMemorySpill:
    """The protocol `SpillStore` over the rows of an `InMemorySyncSpill`."""

    def __init__(self, rows: InMemorySyncSpill | None = None) -> None:
        """Share `rows`, or keep some of its own."""
        self.sync = rows or InMemorySyncSpill()

    async def setup(self) -> None:
        """Do nothing: there is nothing to create."""

    async def save(self, thread_id: str, spilled: Spilled) -> bool:
        """Keep `spilled` instead of an older version; False if a newer one is there."""
        return self.sync.save(thread_id, spilled)

    async def load(self, thread_id: str) -> Spilled | None:
        """Return the paused turn, unless its time is over."""
        return self.sync.load(thread_id)

    async def generation(self, thread_id: str) -> Version | None:
        """Return the version of the paused turn."""
        return self.sync.generation(thread_id)

    async def drop(self, thread_ids: Sequence[str], *, upto: str | None = None) -> None:
        """Forget these threads' turns, or those whose head is not newer than `upto`."""
        self.sync.drop(thread_ids, upto=upto)
