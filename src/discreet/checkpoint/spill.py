"""The spill: the open turn of a thread that waits for a person, sealed, where another process finds it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol, TypeVar

from langgraph.checkpoint.base.id import uuid6

from discreet.encryption import MAKE_ONE, keys_from_settings
from discreet.errors import ConfigurationError
from discreet.ports import KeyProvider
from discreet.settings import Settings, load_settings

T = TypeVar("T")


class Version(NamedTuple):
    """Which state of a paused turn a process has. The greater one is the newer."""

    head: str
    """The newest checkpoint of the root graph."""
    generation: str
    """UUID of the write. Version 6, so that writes with the same head are in the order of time, like checkpoints."""


class Spilled(NamedTuple):
    """A paused turn, or one that is over and is kept for a while."""

    head: str
    """The newest checkpoint of the root graph."""
    generation: str
    """See `Version`."""
    payload: bytes
    """What `serialize` made of it. In the clear: only a spill store's `save` may take it out of the process."""
    ended: bool = False
    """Whether it is over. A thread has one paused turn at most, and any number of these, by head."""

    @classmethod
    def now(cls, head: str, payload: bytes, *, ended: bool = False) -> Spilled:
        """Return `payload` as a new generation. Make it while you hold the turn, so that the order is the turn's."""
        return cls(head, str(uuid6()), payload, ended)

    @property
    def version(self) -> Version:
        """Head and generation."""
        return Version(self.head, self.generation)

    def __repr__(self) -> str:
        return f"Spilled(head={self.head!r}, generation={self.generation!r}, payload=<{len(self.payload)} bytes>)"


class SpillStore(Protocol):
    """Holds the newest version of each paused turn for a while. A row that can't be opened counts as none."""

    async def setup(self) -> None:
        """Create what is needed. Several processes may call it at once, again and again."""
        ...

    async def save(
        self,
        thread_id: str,
        spilled: Spilled,
        *,
        ttl_seconds: float | None = None,
        since: datetime | None = None,
    ) -> bool:
        """Keep `spilled` instead of an older version; False if a newer one is there, which stays, or the thread is gone.

        `ttl_seconds`: for how long. Default: as long as a person may take to answer.
        `since`: the last deletion of the thread that the turn's run knows of. After a later one nothing is kept, by a
        store that can tell. Default: whatever was deleted.

        Raises:
            StorageError: It is not kept.
        """
        ...

    async def load(self, thread_id: str) -> Spilled | None:
        """Return the paused turn, unless its time is over."""
        ...

    async def ended(self, thread_id: str) -> list[Spilled]:
        """Return the turns of a thread that are over and still kept, oldest first."""
        ...

    async def generation(self, thread_id: str) -> Version | None:
        """Return what `load` would, without the payload: a process compares it with the version in its RAM."""
        ...

    async def drop(self, thread_ids: Sequence[str], *, upto: str | None = None) -> None:
        """Forget these threads' turns; with `upto`, only paused ones whose head is not newer than that checkpoint."""
        ...


class SyncSpillStore(Protocol):
    """`SpillStore` for code that runs without an event loop. Each method does what its namesake does."""

    def setup(self) -> None:
        """Create what is needed."""
        ...

    def save(
        self,
        thread_id: str,
        spilled: Spilled,
        *,
        ttl_seconds: float | None = None,
        since: datetime | None = None,
    ) -> bool:
        """Keep `spilled` instead of an older version; False if a newer one is there."""
        ...

    def load(self, thread_id: str) -> Spilled | None:
        """Return the paused turn."""
        ...

    def ended(self, thread_id: str) -> list[Spilled]:
        """Return the turns that are over and still kept."""
        ...

    def generation(self, thread_id: str) -> Version | None:
        """Return the version of the paused turn."""
        ...

    def drop(self, thread_ids: Sequence[str], *, upto: str | None = None) -> None:
        """Forget these threads' turns, or those that are not newer than `upto`."""
        ...


class BlockingSpill:
    """A `SyncSpillStore` for threads beside the event loop of a `SpillStore`, like AsyncPostgresSaver's sync methods."""

    def __init__(self, spill: SpillStore, loop: asyncio.AbstractEventLoop) -> None:
        """Run the calls of `spill` on `loop`. Called on that loop itself, a method would wait for itself."""
        self._spill = spill
        self._loop = loop

    def setup(self) -> None:
        """Create what is needed."""
        self._wait(self._spill.setup())

    def save(
        self,
        thread_id: str,
        spilled: Spilled,
        *,
        ttl_seconds: float | None = None,
        since: datetime | None = None,
    ) -> bool:
        """Keep `spilled` instead of an older version; False if a newer one is there."""
        return self._wait(self._spill.save(thread_id, spilled, ttl_seconds=ttl_seconds, since=since))

    def ended(self, thread_id: str) -> list[Spilled]:
        """Return the turns that are over and still kept."""
        return self._wait(self._spill.ended(thread_id))

    def load(self, thread_id: str) -> Spilled | None:
        """Return the paused turn."""
        return self._wait(self._spill.load(thread_id))

    def generation(self, thread_id: str) -> Version | None:
        """Return the version of the paused turn."""
        return self._wait(self._spill.generation(thread_id))

    def drop(self, thread_ids: Sequence[str], *, upto: str | None = None) -> None:
        """Forget these threads' turns, or those that are not newer than `upto`."""
        self._wait(self._spill.drop(thread_ids, upto=upto))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def spill_keys(settings: Settings | None = None) -> KeyProvider | None:
    """Return the keys to seal paused turns with; None if DISCREET_SPILL is off, or not set.

    Raises:
        ConfigurationError: It is on and DISCREET_ENCRYPTION_KEYS is missing or can't be used.
    """
    settings = settings or load_settings()
    if not settings.spill:
        return None
    keys = keys_from_settings(settings)
    if keys is None:
        raise ConfigurationError(
            f"DISCREET_SPILL keeps paused turns sealed and needs a key in DISCREET_ENCRYPTION_KEYS. {MAKE_ONE}"
        )
    return keys
