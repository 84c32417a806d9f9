"""What the turn vaults that several processes share have in common: sealing, and faces for threads and event loops."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar
from uuid import UUID

from discreet.background_loop import wait_for
from discreet.errors import ConfigurationError
from discreet.loop_bound import bound_to_loop
from discreet.ports import KeyProvider
from discreet.storage.vault.values import LARGE_BYTES, VaultValues, is_large

T = TypeVar("T")

Rows = list[tuple[UUID, bytes]]
"""Sealed values by the digest of their name."""


class BlockingFaces(ABC):
    """The blocking methods of a vault, by those for an event loop."""

    def hold(self, turn: str, values: Mapping[str, str], *, seconds: float | None = None) -> None:
        """Do what `ahold` does, from a thread or a script."""
        self._wait(self._reached.ahold(turn, values, seconds=seconds))

    def values(self, turn: str) -> dict[str, str]:
        """Do what `avalues` does, from a thread or a script."""
        return self._wait(self._reached.avalues(turn))

    def drop(self, turn: str) -> None:
        """Do what `adrop` does, from a thread or a script."""
        self._wait(self._reached.adrop(turn))

    @abstractmethod
    async def ahold(self, turn: str, values: Mapping[str, str], *, seconds: float | None = None) -> None:
        """Add `values` to those of `turn`, which then lives that long. A key keeps the value it had first."""

    @abstractmethod
    async def avalues(self, turn: str) -> dict[str, str]:
        """Return all values of `turn`; none if it is unknown, over, or lost."""

    @abstractmethod
    async def adrop(self, turn: str) -> None:
        """Forget `turn`."""

    @property
    def _reached(self) -> BlockingFaces:
        """This vault, as the background loop can await it."""
        return self

    def _wait(self, call: Coroutine[Any, Any, T]) -> T:
        return wait_for(call)


class SharedTurnVault(BlockingFaces):
    """The `TurnVault` port over a place that several processes reach. What lies there is sealed."""

    def __init__(self, keys: KeyProvider | None, ttl: float) -> None:
        """Belong to the running event loop: connections work on no other.

        Raises:
            ConfigurationError: There is no key.
        """
        self._values = VaultValues(keys)
        self._ttl = float(ttl)
        self._loop = asyncio.get_running_loop()

    async def ahold(self, turn: str, values: Mapping[str, str], *, seconds: float | None = None) -> None:
        """Add `values` to those of `turn` and let all of it live `seconds`. A key keeps the value it had first.

        What would be over the bound of a turn is not kept, the largest first.

        Raises:
            StorageError: The place can't be reached, or refused. Nothing was added.
        """
        given = dict(values)
        seal = self._values.sealed
        rows = await asyncio.to_thread(seal, turn, given) if is_large(given) else seal(turn, given)
        await self._add(self._values.turn_key(turn), rows, self._ttl if seconds is None else float(seconds))

    async def avalues(self, turn: str) -> dict[str, str]:
        """Return all values of `turn` whose key is known; none if it is unknown, over, or lost.

        Raises:
            StorageError: The place can't be reached.
        """
        rows = await self._found(self._values.turn_key(turn))
        if sum(len(sealed) for _, sealed in rows) > LARGE_BYTES:
            return await asyncio.to_thread(self._values.opened, turn, rows)
        return self._values.opened(turn, rows)

    async def adrop(self, turn: str) -> None:
        """Forget `turn`. One that is not there is no error.

        Raises:
            StorageError: The place can't be reached. Its time to live ends the turn.
        """
        await self._forget(self._values.turn_key(turn))

    @abstractmethod
    async def _add(self, turn_key: UUID, rows: Rows, seconds: float) -> None:
        """Store those `rows`, the smallest first, that are new and fit, and let the turn end in `seconds`."""

    @abstractmethod
    async def _found(self, turn_key: UUID) -> Rows:
        """Return what is stored of a turn that has not ended."""

    @abstractmethod
    async def _forget(self, turn_key: UUID) -> None:
        """Delete a turn."""

    @property
    def _reached(self) -> BlockingFaces:
        return bound_to_loop(self, self._loop)

    def _wait(self, call: Coroutine[Any, Any, T]) -> T:
        """Wait on the background loop for the vault's own.

        Raises:
            ConfigurationError: The caller is on the vault's own loop: it would wait for itself.
        """
        try:
            own = asyncio.get_running_loop() is self._loop
        except RuntimeError:  # the caller has no loop
            own = False
        if own:
            call.close()
            raise ConfigurationError(
                "A blocking call was made on the event loop of the turn vault: await ahold, avalues or adrop instead."
            )
        return wait_for(call)
