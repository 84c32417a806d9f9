"""Wait in order for a pool's connections, however long the others take.

psycopg's pool counts waiting for others into its time-out: of 200 turns at once over 6 connections some 80 failed, with a
server that was well. Here as many callers as the pool has connections are inside at a time, and its time-out counts only
for them. Whoever shares a pool shares its queue. While callers get their turn one waits; if none has for twice the
time-out, as where those inside wait for each other or for a server that is gone, who has waited as long is refused.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent import futures
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary, finalize, ref

from psycopg_pool import AsyncConnectionPool, ConnectionPool, PoolTimeout

from discreet import metrics
from discreet.errors import StorageBusyError
from discreet.settings import load_settings

Pool = AsyncConnectionPool[Any] | ConnectionPool[Any]
Waiter = TypeVar("Waiter", bound="asyncio.Future[None] | futures.Future[None]")


class _Queue(Generic[Waiter]):
    """Who is inside a pool and who waits, first come, first served."""

    def __init__(self, pool: Pool) -> None:
        self._pool = ref(pool)  # queues are kept by their pool, which must not be kept by them
        metrics.pool_limit.inc(pool.max_size)
        finalize(self, metrics.pool_limit.dec, pool.max_size).atexit = False
        self._limit = load_settings().max_waiting
        self._inside = 0
        self._moved_at = time.monotonic()
        self._waiting: OrderedDict[Waiter, float] = OrderedDict()
        self._lock = threading.Lock()

    def _enter(self, make: Callable[[], Waiter]) -> Waiter | None:
        """Take a place, and return None; or get in line, and return what the place will be given to.

        Raises:
            StorageBusyError: The line is as long as it may be.
        """
        with self._lock:
            if not self._waiting and self._has_room():
                self._inside += 1
                metrics.pool_in_use.inc()
                return None
            if len(self._waiting) >= self._limit:
                raise self._refusal()
            waiter = make()
            self._waiting[waiter] = time.monotonic()
        return waiter

    def _leave(self) -> None:
        """Give a place back, to who waits longest."""
        with self._lock:
            self._inside -= 1
            metrics.pool_in_use.dec()
            self._moved_at = time.monotonic()
            while self._waiting and self._has_room():
                waiter, _ = self._waiting.popitem(last=False)
                if not waiter.cancelled():
                    self._inside += 1
                    metrics.pool_in_use.inc()
                    waiter.set_result(None)

    def _give_up(self, waiter: Waiter) -> None:
        """Get out of the line. A place that was given in the same moment is handed on."""
        with self._lock:
            self._waiting.pop(waiter, None)
            has_place = waiter.done() and not waiter.cancelled() and waiter.exception() is None
        if has_place:
            self._leave()

    def _fail_overdue(self, error: PoolTimeout) -> None:
        """Fail whoever has waited longer than the pool's time-out: it can't connect, and each would wait it out again."""
        with self._lock:
            since = time.monotonic() - self._patience
            for waiter in [waiter for waiter, began in self._waiting.items() if began <= since]:
                del self._waiting[waiter]
                if not waiter.done():
                    overdue = PoolTimeout("those before got no connection")
                    overdue.__cause__ = error.__cause__
                    waiter.set_exception(overdue)

    def _check_progress(self) -> None:
        """Look whether anybody has got on lately.

        Raises:
            StorageBusyError: Nobody has in twice the pool's time-out.
        """
        with self._lock:
            if (
                time.monotonic() - self._moved_at >= 2 * self._patience
            ):  # those inside have failed by then, if they wait for the pool
                raise self._refusal()

    def _refusal(self) -> StorageBusyError:
        metrics.pool_refused.inc()
        return StorageBusyError(len(self._waiting))

    @property
    def is_full(self) -> bool:
        """Whether who comes now has to wait."""
        with self._lock:
            return bool(self._waiting) or not self._has_room()

    @property
    def longest_wait(self) -> float:
        """For how many seconds the first in line has waited; 0 if nobody waits."""
        with self._lock:
            began = next(iter(self._waiting.values()), None)
            return 0 if began is None else time.monotonic() - began

    @property
    def _patience(self) -> float:
        pool = self._pool()
        return pool.timeout if pool else 0

    def _has_room(self) -> bool:
        pool = self._pool()
        return pool is None or not pool.max_size or self._inside < pool.max_size  # 0: a null pool without a limit


class AsyncConnectionQueue(_Queue["asyncio.Future[None]"]):
    """The line of an async pool on one event loop."""

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Be one of those who may ask the pool for a connection.

        Raises:
            StorageBusyError: DISCREET_MAX_WAITING others wait already, or nobody got on for twice the pool's time.
            PoolTimeout: Those before got no connection in the pool's time, and this caller has waited as long.
        """
        waiter = self._enter(asyncio.get_running_loop().create_future)
        if waiter is not None:
            try:
                with _counted():
                    while not (await asyncio.wait([waiter], timeout=self._patience))[0]:
                        self._check_progress()
                    waiter.result()
            except BaseException:  # cancelled, as a rule
                self._give_up(waiter)
                raise
        try:
            yield
        except PoolTimeout as error:
            self._fail_overdue(error)
            raise
        finally:
            self._leave()


class ConnectionQueue(_Queue["futures.Future[None]"]):
    """The line of a pool for threads."""

    @contextmanager
    def place(self) -> Iterator[None]:
        """Do what `AsyncConnectionQueue.place` does, blocking."""
        waiter = self._enter(futures.Future)
        if waiter is not None:
            try:
                with _counted():
                    while not futures.wait([waiter], timeout=self._patience).done:
                        self._check_progress()
                    waiter.result()
            except BaseException:  # a key was pressed, as a rule
                self._give_up(waiter)
                raise
        try:
            yield
        except PoolTimeout as error:
            self._fail_overdue(error)
            raise
        finally:
            self._leave()


_async_queues: WeakKeyDictionary[Any, WeakKeyDictionary[Any, AsyncConnectionQueue]] = WeakKeyDictionary()
"""By pool and event loop."""
_queues: WeakKeyDictionary[Any, ConnectionQueue] = WeakKeyDictionary()
_lock = threading.Lock()


def async_queue(pool: AsyncConnectionPool[Any]) -> AsyncConnectionQueue:
    """Return the queue that everybody on this event loop shares who uses `pool`."""
    loop = asyncio.get_running_loop()
    with _lock:
        queues = _async_queues.setdefault(pool, WeakKeyDictionary())
        if loop not in queues:
            queues[loop] = AsyncConnectionQueue(pool)
        return queues[loop]


def sync_queue(pool: ConnectionPool[Any]) -> ConnectionQueue:
    """Return the queue that everybody shares who uses `pool`."""
    with _lock:
        if pool not in _queues:
            _queues[pool] = ConnectionQueue(pool)
        return _queues[pool]


@contextmanager
def _counted() -> Iterator[None]:
    began = time.monotonic()
    metrics.pool_waiting.inc()
    try:
        yield
    finally:
        metrics.pool_waiting.dec()
        metrics.pool_wait_seconds.observe(time.monotonic() - began)
