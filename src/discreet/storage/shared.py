"""One storage for a process whose parts start at different times, as the parts of a server do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from uuid import UUID
from weakref import WeakKeyDictionary

from discreet.errors import StorageUnavailableError
from discreet.ports import is_semantic
from discreet.providers import embedding_provider
from discreet.state.records import MemoryFilters, MemoryRecord, ScoredMemory, TurnRecord
from discreet.storage.opening import open_storage
from discreet.storage.wiring import Storage


class SharedStorage:
    """Opens a storage with the first lease and closes it with the last, one for each event loop.

    A server loads its graph before anything may connect, and its checkpointer and store when its loop runs. So a graph
    gets `memories` and `log`, which work while somebody holds a lease.
    """

    def __init__(self, opener: Callable[[], AbstractAsyncContextManager[Storage]] = open_storage) -> None:
        """Open with `opener` when the first lease is taken."""
        self._opener = opener
        self._slots: WeakKeyDictionary[asyncio.AbstractEventLoop, _Slot] = WeakKeyDictionary()
        self.memories = _SharedMemories(self)
        self.log = _SharedLog(self)

    @asynccontextmanager
    async def lease(self) -> AsyncIterator[Storage]:
        """Hold the storage open."""
        slot = self._slots.setdefault(asyncio.get_running_loop(), _Slot())
        async with slot.lock:
            if slot.storage is None:
                slot.context = self._opener()
                slot.storage = await slot.context.__aenter__()
            slot.leases += 1
        try:
            yield slot.storage
        finally:
            async with slot.lock:
                slot.leases -= 1
                if slot.leases == 0 and slot.context is not None:
                    context, slot.context, slot.storage = slot.context, None, None
                    await context.__aexit__(None, None, None)

    @property
    def current(self) -> Storage:
        """The open storage of this event loop.

        Raises:
            StorageUnavailableError: Nobody holds a lease.
        """
        slot = self._slots.get(asyncio.get_running_loop())
        if slot is None or slot.storage is None:
            raise StorageUnavailableError(
                "The storage is not open. In langgraph.json, name the checkpointer and the store of graph/server.py; "
                "they hold it open."
            )
        return slot.storage


class _Slot:
    """The storage of one event loop."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.leases = 0
        self.context: AbstractAsyncContextManager[Storage] | None = None
        self.storage: Storage | None = None


class _SharedMemories:
    """The `Memories` port over the storage that is open."""

    @property
    def semantic(self) -> bool:
        """What the settings say: it's asked before anything is open."""
        return is_semantic(embedding_provider())

    def __init__(self, shared: SharedStorage) -> None:
        self._shared = shared

    async def save(self, user_id: str, records: Sequence[MemoryRecord]) -> list[MemoryRecord]:
        return await self._shared.current.memories.save(user_id, records)

    async def search(
        self,
        user_id: str,
        query: str,
        *,
        limit: int = 5,
        threshold: float | None = None,
        filters: MemoryFilters | None = None,
    ) -> list[ScoredMemory]:
        return await self._shared.current.memories.search(
            user_id, query, limit=limit, threshold=threshold, filters=filters
        )

    async def get(self, user_id: str, entry_id: UUID) -> MemoryRecord | None:
        return await self._shared.current.memories.get(user_id, entry_id)

    async def latest(
        self,
        user_id: str,
        *,
        limit: int = 50,
        filters: MemoryFilters | None = None,
        older_than: UUID | None = None,
    ) -> list[MemoryRecord]:
        return await self._shared.current.memories.latest(user_id, limit=limit, filters=filters, older_than=older_than)

    async def delete(self, user_id: str, entry_id: UUID) -> bool:
        return await self._shared.current.memories.delete(user_id, entry_id)

    async def delete_many(self, user_id: str, filters: MemoryFilters) -> int:
        return await self._shared.current.memories.delete_many(user_id, filters)


class _SharedLog:
    """The `ConversationLog` port over the storage that is open."""

    def __init__(self, shared: SharedStorage) -> None:
        self._shared = shared

    async def append(self, turn: TurnRecord) -> bool:
        return await self._shared.current.log.append(turn)


process_storage = SharedStorage()
"""The storage of this process. A server loads the file that wires it once for each entry of langgraph.json, so what
those entries share can't live in that file."""
