"""Have the development server delete one thread at a time: of two that it deletes at once, it loses another's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID


def delete_one_at_a_time() -> None:
    """Let a deletion of a thread wait for the one before. To be called in the server's process, after its start.

    langgraph_runtime_inmem (0.36.7) looks up a thread's place in its list, awaits the deletion of its checkpoints, and only
    then removes what stands at that place. Meanwhile the end of another stateless run may have moved a third thread there.
    """
    from langgraph_runtime_inmem.ops import Threads  # the server's own, elsewhere not there

    delete = Threads.delete
    free = asyncio.Lock()

    async def after_the_one_before(*args: Any, **options: Any) -> AsyncIterator[UUID]:
        async with free:
            return await delete(*args, **options)

    Threads.delete = staticmethod(after_the_one_before)
