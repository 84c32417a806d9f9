"""Let LangGraph's development server delete one thread after the other: at once it deletes the wrong ones.

`Threads.delete` of langgraph-runtime-inmem looks up where in its list a thread is, awaits auth handlers and the checkpointer, and takes
away what stands there then. Of deletions at once, ends of stateless runs too, one moves what the other has looked up: somebody else's
thread goes, and the thread that was meant stays. Seen with 0.36.7; its rows are in the memory of one process.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Final

RUNTIME: Final = "langgraph_runtime_inmem.ops"
DONE: Final = "one_at_a_time"


def delete_one_at_a_time() -> None:
    """Have the development server do so, if it runs us. Doing it again changes nothing."""
    ops = sys.modules.get(RUNTIME)
    threads = getattr(ops, "Threads", None)
    delete = getattr(threads, "delete", None)
    if threads is None or delete is None or getattr(delete, DONE, False):
        return
    lock = asyncio.Lock()

    async def one_at_a_time(*args: Any, **options: Any) -> Any:
        async with lock:
            return await delete(*args, **options)

    setattr(one_at_a_time, DONE, True)
    threads.delete = staticmethod(one_at_a_time)
