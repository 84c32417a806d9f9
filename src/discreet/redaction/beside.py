"""Work on short texts at once, and on long ones beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

INLINE_CHARS: Final = 500
"""To redact so many takes 0.3 to 2 ms. A thread costs as much as a sentence does, and gets on no sooner: both need the
interpreter, which the loop gives up every 5 ms."""


async def beside_loop(chars: int, work: Callable[[], T]) -> T:
    """Return what `work` on texts of so many characters returns: from a thread if they are long."""
    return work() if chars <= INLINE_CHARS else await asyncio.to_thread(work)
