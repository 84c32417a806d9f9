"""Try again and again for a user whom somebody else writes for, without a connection in hand meanwhile."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

WAIT_SECONDS = 10.0
"""How long a writer waits for those of other processes. A save holds the lock for some 5 ms, an import for a second."""

_PAUSES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
"""Seconds, about, between two attempts; the last one from then on."""


async def attempts(seconds: float = WAIT_SECONDS) -> AsyncIterator[None]:
    """Yield at once, and again after each pause until `seconds` are over."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    attempt = 0
    while True:
        yield
        if loop.time() > deadline:
            return
        pause = _PAUSES[min(attempt, len(_PAUSES) - 1)]
        await asyncio.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311  # guards nothing
        attempt += 1
