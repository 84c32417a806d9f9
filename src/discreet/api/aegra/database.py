"""Give Aegra our checkpointer and store.

Aegra has no setting for either: `aegra.json` names no checkpointer, and what a graph was compiled with is replaced. So the
methods of its database manager by which all of it gets them are replaced, once, before it starts. That is no interface
of Aegra's: it is done in releases in which it was tested, and each served graph looks at what it was given.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import cache
from importlib.metadata import version
from typing import Any, Final, TypeVar

from aegra_api.core.database import db_manager
from aegra_api.settings import settings

from discreet.api.aegra.turns import Turns
from discreet.checkpoint import RedactingSaver
from discreet.errors import ConfigurationError, UntestedServerError
from discreet.graph import drain
from discreet.settings import load_settings
from discreet.storage.shared import process_storage
from discreet.storage.store.postgres_store import DiscreetStore

T = TypeVar("T")

PACKAGE: Final = "aegra-api"
TESTED: Final = frozenset({"0.11.0"})
"""Releases in which tests/aegra passed."""

SHARED_DATABASE: Final = (
    "Aegra hands runs to workers (REDIS_BROKER_ENABLED), which may be in other processes, and DISCREET_POSTGRES_DSN is not set: each would "
    "have memories of its own. Set it, the same in all."
)
SHARED_VAULT: Final = (
    "Aegra hands runs to workers (REDIS_BROKER_ENABLED), which may be in other processes, and the turn vault is in the "
    "memory of this one. Set DISCREET_TURN_VAULT=postgres (or redis)."
)


class Persistence:
    """What Aegra gets instead of its own checkpointer and store, from its start to its end."""

    def __init__(self, manager: Any) -> None:
        """Take the place of `manager`'s methods; it is the `db_manager` of `aegra_api.core.database`."""
        self._manager = manager
        self._initialize: Callable[[], Awaitable[None]] = manager.initialize
        self._close: Callable[[], Awaitable[None]] = manager.close
        self._held = AsyncExitStack()
        self._saver: RedactingSaver | None = None
        self._store: DiscreetStore | None = None
        self._turns: Turns | None = None
        manager.initialize, manager.close = self.initialize, self.close
        manager.get_checkpointer, manager.get_store = self.checkpointer, self.store

    async def initialize(self) -> None:
        """Open Aegra's database, then ours. Its workers begin afterwards: no run meets another checkpointer."""
        await self._initialize()
        if self._saver is not None:
            return
        self._turns = Turns(self._manager.lg_pool, alone=not settings.redis.REDIS_BROKER_ENABLED)
        await self._turns.setup()
        storage = await self._held.enter_async_context(process_storage.lease())
        saver = RedactingSaver.from_pool(storage.pool, restore=False)
        await saver.setup()
        await storage.store.start_ttl_sweeper()
        self._saver, self._store = saver, storage.store

    async def close(self) -> None:
        """Wait for work beside the turns, and close both."""
        try:
            await drain()
            await self._held.aclose()
        finally:
            self._saver = self._store = self._turns = None
            await self._close()

    def checkpointer(self) -> RedactingSaver:
        """Return the checkpointer of the server.

        Raises:
            ConfigurationError: The server has not started.
        """
        return _started(self._saver)

    def store(self) -> DiscreetStore:
        """Return the store of the server.

        Raises:
            ConfigurationError: As `checkpointer`.
        """
        return _started(self._store)

    def turns(self) -> Turns:
        """Return the turns of its threads.

        Raises:
            ConfigurationError: As `checkpointer`.
        """
        return _started(self._turns)


def _started(part: T | None) -> T:
    if part is None:
        raise ConfigurationError("The server has not started.")
    return part


def check_release(installed: str) -> None:
    """Refuse a release of Aegra in which this was not tested.

    Raises:
        UntestedServerError: It is one.
    """
    if installed not in TESTED:
        raise UntestedServerError(
            f"{PACKAGE} {installed} was not tested: whether it takes our checkpointer and store is not known, and its "
            f"own would store what people say. Install {PACKAGE}=={max(TESTED)}."
        )


@cache
def persistence() -> Persistence:
    """Return what the Aegra of this process keeps things in. The first call gives it to Aegra, before that starts.

    Raises:
        UntestedServerError: Its release was not tested.
        ConfigurationError: Its workers may be in other processes, and the vault is in this one.
    """
    check_release(version(PACKAGE))
    if settings.redis.REDIS_BROKER_ENABLED and load_settings().turn_vault == "memory":
        raise ConfigurationError(SHARED_VAULT)
    if settings.redis.REDIS_BROKER_ENABLED and load_settings().postgres_dsn is None:
        raise ConfigurationError(SHARED_DATABASE)
    return Persistence(db_manager)
