"""Work beside the turns: one job a thread, on the event loop of the turn that began it, for as long as that runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from concurrent.futures import Future
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from weakref import WeakSet

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")

DRAIN_SECONDS = 20.0
"""How long a process that is to stop waits; Kubernetes kills it after 30."""

SLICES = 20
"""Of the time that a job has. A loop that stands still, however long, takes one of them."""


@dataclass(eq=False)
class _Job(Generic[V]):
    task: asyncio.Task[None]
    """Kept here: an event loop holds its tasks by weak references only."""
    value: V | None
    """What is to be worked on next."""
    done: Future[None] = field(default_factory=Future)
    """For those who wait on another loop."""

    @property
    def runs(self) -> bool:
        """Whether it may still end: it does not if its loop was closed under it, as at the end of a request."""
        return not self.task.done() and not self.task.get_loop().is_closed()


class ThreadJobs(Generic[K, V]):
    """Runs `work(key, value)`, one key at a time once; `work` must not raise.

    A value that comes while its key is worked on is worked on next; of several the latest.
    """

    def __init__(self, work: Callable[[K, V], Coroutine[Any, Any, None]], *, limit: int) -> None:
        self._work = work
        self._limit = limit
        self._jobs: dict[K, _Job[V]] = {}
        self._lock = threading.Lock()
        _everywhere.add(self)

    def offer(self, key: K, value: V) -> Future[None] | None:
        """Have `value` worked on; return what is done when its job ends, None if `limit` jobs run already."""
        with self._lock:
            job = self._running().get(key)
            if job is not None:
                job.value = value
            elif len(self._jobs) >= self._limit:
                return None
            else:
                task = asyncio.get_running_loop().create_task(self._run(key))
                job = self._jobs[key] = _Job(task, value)
                ended = job.done
                task.add_done_callback(lambda _task: ended.set_result(None))
            return job.done

    def running(self) -> list[Future[None]]:
        """Return what is done when the jobs that run now end."""
        with self._lock:
            return [job.done for job in self._running().values()]

    def _running(self) -> dict[K, _Job[V]]:
        self._jobs = {key: job for key, job in self._jobs.items() if job.runs}
        return self._jobs

    async def _run(self, key: K) -> None:
        while (value := self._next(key)) is not None:
            await self._work(key, value)

    def _next(self, key: K) -> V | None:
        with self._lock:
            job = self._jobs[key]
            value, job.value = job.value, None
            if value is None:
                del self._jobs[key]  # so that what comes now begins another
            return value


_everywhere: WeakSet[ThreadJobs[Any, Any]] = WeakSet()


async def drain(seconds: float = DRAIN_SECONDS, *, of: ThreadJobs[Any, Any] | None = None) -> int:
    """Wait until the work beside the turns has ended, `seconds` at most; return how many jobs have not.

    For the end of a service, before its storage is closed: what is not waited for is lost, and begun again with the next
    turn of its thread.
    """
    jobs = [of] if of is not None else list(_everywhere)
    running = [asyncio.wrap_future(done) for each in jobs for done in each.running()]
    if not running:
        return 0
    _, left = await asyncio.wait(running, timeout=seconds)  # which, cancelled, does not cancel them
    return len(left)


async def awake_for(seconds: float, work: Callable[[], Awaitable[T]]) -> T:
    """Return what `work` comes to; time in which the event loop stands still, as between the turns of a terminal, is free.

    It gets none of the caller's context variables, so that nothing of a run, its streams and traces say, reaches it.

    Raises:
        TimeoutError: It did not end within `seconds` of running.
    """

    async def working() -> T:
        return await work()

    task = asyncio.get_running_loop().create_task(working(), context=Context())
    try:
        for _ in range(SLICES):
            if (await asyncio.wait([task], timeout=seconds / SLICES))[0]:
                return task.result()
        raise TimeoutError
    finally:
        task.cancel()
