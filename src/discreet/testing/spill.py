"""Spill stores in RAM, for tests that let one process pause a turn and another resume it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime

from discreet.checkpoint.spill import Spilled, Version


class InMemorySyncSpill:
    """The protocol `SyncSpillStore` without a database, thread-safe. Nothing is sealed: nothing leaves the process.

    Savers that share one are like processes that share a database.
    """

    def __init__(self, *, ttl_seconds: float = 3600, clock: Callable[[], float] = time.monotonic) -> None:
        """Keep each turn for `ttl_seconds` of `clock`."""
        self._ttl_seconds = ttl_seconds
        self._clock = clock
        self._kept: dict[tuple[str, str], tuple[Spilled, float]] = {}
        self._lock = threading.Lock()

    def setup(self) -> None:
        """Do nothing: there is nothing to create."""

    def save(
        self,
        thread_id: str,
        spilled: Spilled,
        *,
        ttl_seconds: float | None = None,
        since: datetime | None = None,  # no deletion has a time here
    ) -> bool:
        """Keep `spilled` instead of an older version; False if a newer one is there."""
        key = (thread_id, spilled.head if spilled.ended else "")
        with self._lock:
            self._expire()
            kept = self._kept.get(key)
            if kept is not None and kept[0].version > spilled.version:
                return False
            self._kept[key] = (spilled, self._clock() + (ttl_seconds or self._ttl_seconds))
            return True

    def load(self, thread_id: str) -> Spilled | None:
        """Return the paused turn, unless its time is over."""
        with self._lock:
            self._expire()
            kept = self._kept.get((thread_id, ""))
            return kept[0] if kept else None

    def ended(self, thread_id: str) -> list[Spilled]:
        """Return the turns that are over and still kept, oldest first."""
        with self._lock:
            self._expire()
            return [self._kept[key][0] for key in sorted(self._kept) if key[0] == thread_id and key[1]]

    def generation(self, thread_id: str) -> Version | None:
        """Return the version of the paused turn."""
        spilled = self.load(thread_id)
        return spilled.version if spilled else None

    def drop(self, thread_ids: Sequence[str], *, upto: str | None = None) -> None:
        """Forget these threads' turns; with `upto`, only paused ones whose head is not newer."""
        gone = set(thread_ids)
        with self._lock:
            for key in [key for key in self._kept if key[0] in gone]:
                if upto is None or (not key[1] and self._kept[key][0].head <= upto):
                    del self._kept[key]

    def _expire(self) -> None:
        now = self._clock()
        for key in [key for key, (_, deadline) in self._kept.items() if deadline <= now]:
            del self._kept[key]


class InMemorySpill:
    """The protocol `SpillStore` over the rows of an `InMemorySyncSpill`."""

    def __init__(self, rows: InMemorySyncSpill | None = None) -> None:
        """Share `rows`, or keep some of its own."""
        self.sync = rows or InMemorySyncSpill()

    async def setup(self) -> None:
        """Do nothing: there is nothing to create."""

    async def save(
        self,
        thread_id: str,
        spilled: Spilled,
        *,
        ttl_seconds: float | None = None,
        since: datetime | None = None,
    ) -> bool:
        """Keep `spilled` instead of an older version; False if a newer one is there."""
        return self.sync.save(thread_id, spilled, ttl_seconds=ttl_seconds, since=since)

    async def ended(self, thread_id: str) -> list[Spilled]:
        """Return the turns that are over and still kept, oldest first."""
        return self.sync.ended(thread_id)

    async def load(self, thread_id: str) -> Spilled | None:
        """Return the paused turn, unless its time is over."""
        return self.sync.load(thread_id)

    async def generation(self, thread_id: str) -> Version | None:
        """Return the version of the paused turn."""
        return self.sync.generation(thread_id)

    async def drop(self, thread_ids: Sequence[str], *, upto: str | None = None) -> None:
        """Forget these threads' turns; with `upto`, only paused ones whose head is not newer."""
        self.sync.drop(thread_ids, upto=upto)
