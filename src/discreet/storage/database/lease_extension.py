"""Extend a lease while one works under it, and stop as soon as somebody else has it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from discreet.errors import LeaseLostError


@asynccontextmanager
async def extending(extend: Callable[[], Awaitable[bool]], *, seconds: float) -> AsyncIterator[None]:
    """Call `extend` three times in the `seconds` of a lease until the block ends. It returns False once the lease is lost.

    Raises:
        LeaseLostError: It was lost; the block was cancelled.
    """
    block = asyncio.current_task()
    assert block is not None  # a coroutine runs in a task
    lost = False

    async def repeat() -> None:
        nonlocal lost
        while not lost:
            await asyncio.sleep(seconds / 3)
            lost = not await extend()
        block.cancel()

    repeating = asyncio.create_task(repeat())
    try:
        yield
    except asyncio.CancelledError:
        if lost and block.uncancel() == 0:
            raise LeaseLostError from None
        raise
    finally:
        repeating.cancel()
        await asyncio.wait([repeating])
