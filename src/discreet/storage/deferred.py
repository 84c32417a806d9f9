"""Run a write a little later, once for all who asked for it meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


class Deferred:
    """Runs `work` some seconds after the first request. For counts: a process that is killed loses what waited."""

    def __init__(self, work: Callable[[], Awaitable[None]], *, seconds: float) -> None:
        """`work` handles its own errors."""
        self._work = work
        self._seconds = seconds
        self._waiting: asyncio.Task[None] | None = None

    def request(self) -> None:
        """See to it that the work is done within `seconds`. Must be called on the event loop."""
        if self._waiting is None:
            self._waiting = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Do what was requested now."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        await self._work()

    async def _run(self) -> None:
        await asyncio.sleep(self._seconds)
        self._waiting = None
        await self._work()
