"""What a saver takes of an open storage."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from discreet.errors import ConfigurationError
from discreet.ports import KeyProvider, TurnVault
from discreet.settings import load_settings


class OpenStorage(Protocol):
    """That of `open_storage` and `open_storage_sync`."""

    @property
    def pool(self) -> AsyncConnectionPool[AsyncConnection[Any]]:
        """Connections to the database."""
        ...

    @property
    def vault(self) -> TurnVault:
        """The vault that the settings name."""
        ...

    @property
    def keys(self) -> KeyProvider | None:
        """What seals, if anything does."""
        ...

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop that the connections work on."""
        ...


def keys_of(storage: OpenStorage) -> KeyProvider | None:
    """Return the keys to seal paused turns with: those of `storage`, unless DISCREET_SPILL is off."""
    return None if load_settings().spill is False else storage.keys


def check_loop(storage: OpenStorage, *, blocking: bool) -> None:
    """Refuse a storage of another event loop, and for a `blocking` saver one of the loop that would wait.

    Raises:
        ConfigurationError: It is of such a loop.
    """
    try:
        own = asyncio.get_running_loop() is storage.loop
    except RuntimeError:  # the caller has no loop
        own = False
    if own == blocking:
        raise ConfigurationError(
            "This storage belongs to the running event loop: take RedactingSaver.from_storage(storage)."
            if blocking
            else "This storage belongs to another event loop, as that of open_storage_sync: take "
            "RedactingSyncSaver.from_storage(storage)."
        )
