"""One storage for a process whose parts start at different times, as the parts of a server do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import fields
from functools import cached_property, partial
from operator import attrgetter
from typing import Any, cast
from uuid import UUID
from weakref import WeakKeyDictionary

from discreet.access.user_keys import UserKeys
from discreet.checkpoint.postgres.owned import OwnedThreads
from discreet.errors import StorageUnavailableError
from discreet.ports import (
    AuditLog,
    Memories,
    RollingSummaries,
    SettingsStore,
    ShortTermStore,
    TurnVault,
    is_semantic,
)
from discreet.providers import embedding_provider
from discreet.providers.environment_values import environment_values
from discreet.redaction.vault import default_vault
from discreet.settings import load_settings
from discreet.state.memory_settings import MemorySettings
from discreet.storage.background.ages import Ages
from discreet.storage.background.background import Background
from discreet.storage.conversation.log import PostgresConversationLog
from discreet.storage.database.connecting.health import DatabaseHealth
from discreet.storage.delegation import PostgresDelegations
from discreet.storage.opening import open_storage
from discreet.storage.vault.shared import BlockingFaces
from discreet.storage.wiring import Storage

START_SECONDS = 3.0
"""A server opens its storage while it starts, and what the first turn needs would keep it from that."""


class SharedStorage:
    """Opens a storage with the first lease and closes it with the last, one for each event loop.

    A server loads its graph before anything may connect, and its checkpointer and store when its loop runs. So a graph
    gets `memories`, `log`, `short_term`, `summaries`, `background`, `vault` and `memory_settings`, which work while somebody
    holds a lease; on a loop that has no storage of its own, as the one for blocking callers, they use that of another. What
    `memory_settings.live` says without a lease is what the environment says.
    """

    def __init__(self, opener: Callable[[], AbstractAsyncContextManager[Storage]] | None = None) -> None:
        """Open with `opener` when the first lease is taken, by default with `open_storage`."""
        self._opener = opener or partial(open_storage, warm_after=START_SECONDS)
        self._slots: WeakKeyDictionary[asyncio.AbstractEventLoop, _Slot] = WeakKeyDictionary()
        self.memories = cast("Memories", _ForwardingMemories(lambda: self._serving.memories))
        self.log = cast("PostgresConversationLog", _Forwarding(lambda: self._serving.log))
        self.short_term = cast("ShortTermStore", _Forwarding(lambda: self._serving.short_term))
        self.summaries = cast("RollingSummaries", _Forwarding(lambda: self._serving.summaries))
        self.audit = cast("AuditLog", _Forwarding(lambda: self._serving.audit))
        self.delegations = cast("PostgresDelegations", _Forwarding(lambda: self._serving.delegations))
        self.background = _forwarding_background(lambda find: find(self._serving.background))
        self.health = cast("DatabaseHealth", _Forwarding(lambda: self._serving.health))
        self.ages = cast("Ages", _Forwarding(lambda: self._serving.ages))
        self.threads = cast("OwnedThreads", _Forwarding(lambda: self._serving.threads))
        self.memory_settings = cast(
            "SettingsStore", _ForwardingSettings(lambda: self._serving.memory_settings, lambda: self._open)
        )

    @property
    def vault(self) -> TurnVault:
        """The turn vault that the settings name. This process's memory needs no lease.

        Raises:
            ConfigurationError: A setting can't be used.
        """
        if load_settings().turn_vault == "memory":
            return default_vault()
        return _ForwardingVault(lambda: self._serving.vault)

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

    @property
    def is_open(self) -> bool:
        """Whether somebody holds a lease, on whatever event loop."""
        return self._open is not None

    @property
    def is_restarting(self) -> bool:
        """Whether the open storage waits for its embedded server to start again."""
        return self._open is not None and self._open.is_restarting

    @property
    def _serving(self) -> Storage:
        """The open storage of this event loop, else one of another: its parts hop there."""
        return self._open or self.current

    @property
    def _open(self) -> Storage | None:
        """The same; None if there is none. There may be no event loop either."""
        slots = list(self._slots.values())
        with suppress(RuntimeError):  # no loop runs in this thread
            slots = [self._slots.get(asyncio.get_running_loop(), _Slot()), *slots]
        return next((slot.storage for slot in slots if slot.storage is not None), None)


class _Slot:
    """The storage of one event loop."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.leases = 0
        self.context: AbstractAsyncContextManager[Storage] | None = None
        self.storage: Storage | None = None


class _Forwarding:
    """Awaits the method of that name on what `get` returns when it is called."""

    def __init__(self, get: Callable[[], object]) -> None:
        self._get = get

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        if name.startswith("_"):
            raise AttributeError(name)  # what copies or prints an object looks for such names

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await getattr(self._get(), name)(*args, **kwargs)

        return call


class _ForwardingMemories(_Forwarding):
    """The memories; what they can do is asked before anything is open."""

    @property
    def semantic(self) -> bool:
        """What the settings say."""
        return is_semantic(embedding_provider())


def _forwarding_background(part: Callable[[Callable[[Background], object]], object]) -> Background:
    """Return background memory each part of which is looked for when one of its methods is called."""
    names = [field.name for field in fields(Background) if field.name not in {"keys", "rolling_of"}]
    parts: dict[str, Any] = {name: _Forwarding(partial(part, attrgetter(name))) for name in names}

    def rolling_of(user_key: UUID) -> RollingSummaries:
        return cast("RollingSummaries", _Forwarding(lambda: part(lambda found: found.rolling_of(user_key))))

    keys = cast("UserKeys", _ForwardingKeys(partial(part, attrgetter("keys"))))
    return Background(**parts, keys=keys, rolling_of=rolling_of)


class _ForwardingKeys:
    """The keys of people: nothing of them is awaited."""

    def __init__(self, get: Callable[[], object]) -> None:
        self._get = get

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)  # as above
        return getattr(self._get(), name)


class _ForwardingVault(BlockingFaces):
    """The vault of the open storage, for event loops and for threads."""

    def __init__(self, get: Callable[[], TurnVault]) -> None:
        self._get = get

    async def ahold(self, turn: str, values: Mapping[str, str], *, seconds: float | None = None) -> None:
        await self._get().ahold(turn, values, seconds=seconds)

    async def avalues(self, turn: str) -> dict[str, str]:
        return await self._get().avalues(turn)

    async def adrop(self, turn: str) -> None:
        await self._get().adrop(turn)


class _ForwardingSettings(_Forwarding):
    """The settings of memory; what holds is asked before anything is open, and where no event loop runs."""

    def __init__(self, get: Callable[[], object], found: Callable[[], Storage | None]) -> None:
        super().__init__(get)
        self._found = found

    @property
    def live(self) -> MemorySettings:
        """What the open storage saw last, else what the environment says."""
        storage = self._found()
        return self._environment if storage is None else storage.memory_settings.live

    @cached_property
    def _environment(self) -> MemorySettings:
        return environment_values(load_settings())


process_storage = SharedStorage()
"""The storage of this process. A server loads the file that wires it once for each entry of langgraph.json, so what
those entries share can't live in that file."""
