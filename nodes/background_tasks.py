"""Work beside the turns, on the event loop of the turn that began it, for as long as that runs."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from contextvars import Context
from typing import Any, TypeVar
from weakref import WeakSet

from discreet.access.epochs import begun, current_beginning

T = TypeVar("T")

DRAIN_SECONDS = 20.0
"""How long a process that is to stop waits; Kubernetes kills it after 30."""

LOOK_SECONDS = 0.02
"""How often `drain` looks at tasks, which may be on any event loop."""

SLICES = 20
"""Of the time that a job has. A loop that stands still, however long, takes one of them."""


class BackgroundTasks:
    """Tasks by key, one of a key at a time, that are kept until they end or their loop is closed."""

    def __init__(self, *, limit: int) -> None:
        self._limit = limit
        self._tasks: dict[Hashable, asyncio.Task[None]] = {}
        self._lock = threading.Lock()
        _everywhere.add(self)

    def start(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None] | None:
        """Return the task of `key`, begun with `work` unless one runs already; None if `limit` run. `work` must not raise."""
        with self._lock:
            tasks = self._running()
            if key not in tasks and len(tasks) < self._limit:
                tasks[key] = asyncio.get_running_loop().create_task(work())
            return tasks.get(key)

    def running(self) -> int:
        """Return how many tasks run."""
        with self._lock:
            return len(self._running())

    def _running(self) -> dict[Hashable, asyncio.Task[None]]:
        self._tasks = {
            k: task for k, task in self._tasks.items() if not task.done() and not task.get_loop().is_closed()
        }
        return self._tasks


_everywhere: WeakSet[BackgroundTasks] = WeakSet()


async def drain(seconds: float = DRAIN_SECONDS, *, of: BackgroundTasks | None = None) -> int:
    """Wait until the work beside the turns has ended, `seconds` at most; return how many tasks have not.

    For the end of a service, before its storage is closed: what is not waited for is lost, and begun again with the next
    turn of its thread.
    """
    until = time.monotonic() + seconds
    while left := sum(tasks.running() for tasks in ([of] if of is not None else list(_everywhere))):
        if time.monotonic() >= until:
            break
        await asyncio.sleep(LOOK_SECONDS)
    return left


async def awake_for(seconds: float, work: Callable[[], Awaitable[T]]) -> T:
    """Return what `work` comes to; time in which the event loop stands still, as between the turns of a terminal, is free.

    It gets none of the caller's context variables, so that nothing of a run, its streams and traces say, reaches it; but for
    under what its work began.

    Raises:
        TimeoutError: It did not end within `seconds` of running.
    """
    began = current_beginning()

    async def working() -> T:
        with begun(began):
            return await work()

    task = asyncio.get_running_loop().create_task(working(), context=Context())
    try:
        for _ in range(SLICES):
            if (await asyncio.wait([task], timeout=seconds / SLICES))[0]:
                return task.result()
        raise TimeoutError
    finally:
        task.cancel()
