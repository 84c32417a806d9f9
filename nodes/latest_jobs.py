"""Work beside the turns: one job a key at a time, each on the latest value that it was given, so many at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Hashable
from concurrent.futures import Future
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(eq=False)
class _Job(Generic[V]):
    value: V
    is_fresh: bool = True
    """Whether `value` was not worked on yet."""
    done: Future[None] = field(default_factory=Future)
    task: asyncio.Task[None] | None = None
    """Kept here: an event loop holds its tasks by weak references only."""


class LatestJobs(Generic[K, V]):
    """Runs `work(key, value)` in tasks of their own; `work` must not raise.

    A value that comes while its key is worked on takes the place of the one that waits: it is worked on next. Tasks get
    none of the caller's context variables, so that nothing of a run, its streams and traces say, reaches what it started.
    Callers may be on several event loops; each job stays on the one that it began on.
    """

    def __init__(self, work: Callable[[K, V], Coroutine[Any, Any, None]], *, limit: int) -> None:
        self._work = work
        self._limit = limit
        self._jobs: dict[K, _Job[V]] = {}
        self._lock = threading.Lock()

    def offer(self, key: K, value: V) -> Future[None] | None:
        """Have `value` worked on; return what is done when its job ends, None if `limit` jobs run already."""
        with self._lock:
            self._drop_dead()
            job = self._jobs.get(key)
            if job is not None:
                job.value, job.is_fresh = value, True
                return job.done
            if len(self._jobs) >= self._limit:
                return None
            job = self._jobs[key] = _Job(value)
            job.task = asyncio.get_running_loop().create_task(self._run(key, job), context=Context())
        job.task.add_done_callback(lambda _task: self._ended(key, job))
        return job.done

    async def drain(self) -> None:
        """Wait until the jobs that run now have ended."""
        with self._lock:
            self._drop_dead()
            running = [asyncio.wrap_future(job.done) for job in self._jobs.values()]
        if running:
            await asyncio.wait(running)  # which, cancelled, does not cancel them

    async def _run(self, key: K, job: _Job[V]) -> None:
        while self._take(key, job):
            await self._work(key, job.value)

    def _take(self, key: K, job: _Job[V]) -> bool:
        """Mark the job's value as worked on; False, and the job is over, if it was before."""
        with self._lock:
            if not job.is_fresh:
                del self._jobs[key]
                return False
            job.is_fresh = False
            return True

    def _ended(self, key: K, job: _Job[V]) -> None:
        with self._lock:
            if self._jobs.get(key) is job:  # cancelled, possibly before its first step
                del self._jobs[key]
        job.done.set_result(None)

    def _drop_dead(self) -> None:
        """Forget jobs whose event loop was closed under them."""
        for key, job in list(self._jobs.items()):
            if job.task is not None and job.task.get_loop().is_closed():
                del self._jobs[key]
                job.done.set_result(None)
