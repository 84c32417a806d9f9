"""Give the event loop to others during work that needs no input and takes long."""

from __future__ import annotations

import asyncio
import time

SLICE_SECONDS = 0.004
"""How long to work at a time. An import of 1,000 facts compares them for seconds: without a rest nobody else's call moved,
and searches that take 2 ms took three seconds."""

SHORT_SECONDS = 0.1
"""Work that is done sooner, as that of a save of 100 facts, only lets pass who waits."""

SHARE = 0.2
"""Of the time that longer work takes while others are at work."""

BUSY_SECONDS = 0.0005
"""An event loop that comes back later has others to serve."""


class Pace:
    """The pace of one piece of work."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._worked = 0.0

    async def rest(self) -> None:
        """Let others go on, if it is time for that."""
        stopped = time.perf_counter()
        slice_seconds = stopped - self._began
        if slice_seconds >= SLICE_SECONDS:
            self._worked += slice_seconds
            await asyncio.sleep(0)
            if self._worked > SHORT_SECONDS and time.perf_counter() - stopped > BUSY_SECONDS:
                await asyncio.sleep(slice_seconds * (1 / SHARE - 1))
            self.go_on()

    def go_on(self) -> None:
        """Work again, after something was waited for."""
        self._began = time.perf_counter()
