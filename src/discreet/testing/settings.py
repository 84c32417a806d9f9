"""Settings of memory in RAM, for tests and for graphs that try things out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from pydantic import JsonValue

from discreet.state.ids import check_user_id
from discreet.state.memory_settings import MemorySettings, SettingChange, changed


class InMemorySettingsStore:
    """The port `SettingsStore` without a database, thread-safe. It checks as the real one does.

    Example:
        >>> import asyncio
        >>> settings = InMemorySettingsStore()
        >>> _ = asyncio.run(settings.change({"memory_retrieve_limit": 3}, by="ann"))
        >>> settings.live.memory_retrieve_limit, sorted(asyncio.run(settings.overridden()))
        (3, ['memory_retrieve_limit'])
    """

    def __init__(
        self, environment: MemorySettings | None = None, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        """Let `environment` say what is not set here (default: the defaults); changes happen by `clock`."""
        self._environment = environment or MemorySettings()
        self._clock = clock
        self._live = self._environment
        self._values: Mapping[str, JsonValue] = {}
        self._changes: list[SettingChange] = []
        self._lock = threading.Lock()

    @property
    def live(self) -> MemorySettings:
        """What holds."""
        return self._live

    async def read(self) -> MemorySettings:
        """Return what holds now."""
        return self._live

    async def overridden(self) -> frozenset[str]:
        """Return the names of the settings that are set here."""
        return frozenset(self._values)

    async def change(self, changes: Mapping[str, JsonValue], *, by: str) -> MemorySettings:
        """Set these, all or none; None gives a setting back to the environment. What stays as it is, is not told."""
        by = check_user_id(by)
        with self._lock:
            after = changed(self._environment, self._values, changes)
            now = self._clock()
            self._changes += [
                SettingChange(name=name, old=old, new=new, changed_at=now, changed_by=by)
                for name, old, new in after.differences
            ]
            self._values, self._live = after.values, after.settings
        return after.settings

    async def history(
        self, *, name: str | None = None, limit: int = 50, before: int | None = None
    ) -> list[tuple[int, SettingChange]]:
        """Return the latest changes, newest first, each with its number from 1 on."""
        numbered = [
            (number, change)
            for number, change in enumerate(self._changes, start=1)
            if name in (None, change.name) and (before is None or number < before)
        ]
        return numbered[::-1][: max(0, limit)]
