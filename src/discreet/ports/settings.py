"""Settings that live in the database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import JsonValue

from discreet.state.memory_settings import MemorySettings, SettingChange


class LiveSettings(Protocol):
    """The settings of memory as they hold at this moment."""

    @property
    def live(self) -> MemorySettings:
        """What holds, as this process last saw it; at most seconds old. Never waits."""
        ...


@dataclass(frozen=True)
class FixedSettings:
    """Settings that nobody changes."""

    live: MemorySettings = field(default_factory=MemorySettings)
    """What holds."""


class SettingsStore(LiveSettings, Protocol):
    """The settings of memory, and who changed them when."""

    async def read(self) -> MemorySettings:
        """Return what holds now.

        Raises:
            StorageError: The database failed.
        """
        ...

    async def overridden(self) -> frozenset[str]:
        """Return the names of the settings that the database says; the others come from the environment."""
        ...

    async def change(self, changes: Mapping[str, JsonValue], *, by: str) -> MemorySettings:
        """Set these, all or none; None gives a setting back to the environment. `by` is a pseudonym of who asks.

        Raises:
            SettingRefusedError: A name is unknown, or the values can't be used together; nothing was changed.
            StorageError: Nothing was changed.
        """
        ...

    async def history(
        self, *, name: str | None = None, limit: int = 50, before: int | None = None
    ) -> list[tuple[int, SettingChange]]:
        """Return the latest changes, newest first, each with its number; `before` is the number of the last one seen."""
        ...
