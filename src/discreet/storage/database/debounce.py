"""Run a write a little later, once for all who asked for it meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


class Debounce:
    """Runs `work` some seconds after the first request. For counts: a process that is killed loses what waited."""

    def __init__(self, work: Callable[[], Awaitable[None]], *, seconds: float) -> None:
        """`work` handles its own errors."""
        self._work = work
        self._seconds = seconds
        self._requested = False
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def request(self) -> None:
        """See to it that the work is done within `seconds`. Must be called on the event loop."""
        self._requested = True
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Do what was requested now, and be ready for more."""
        self._closing.set()
        if self._task is not None:
            await self._task
        self._closing.clear()

    async def _run(self) -> None:
        while self._requested:
            try:
                async with asyncio.timeout(self._seconds):
                    await self._closing.wait()
            except TimeoutError:
                pass
            self._requested = False
            await self._work()
