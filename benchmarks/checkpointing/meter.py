"""Measures the time that a checkpointer spends in `put` and `put_writes`, and counts the calls."""

from __future__ import annotations

import functools
import threading
import time
import types
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any, NamedTuple

PUT = "put"
PUT_WRITES = "put_writes"

_call: ContextVar[str] = ContextVar("call", default=PUT)
"""Which call sends work to the executor."""


class Spent(NamedTuple):
    """What a checkpointer has used so far."""

    wall: float = 0.0
    """Seconds in which at least one call was under way."""
    put: float = 0.0
    """Seconds of this process's CPU in calls of `put`, in whatever thread. Waiting and the server's work are not in it."""
    put_writes: float = 0.0
    """The same of `put_writes`."""
    puts: int = 0
    """Calls of `put`: checkpoints."""
    writes: int = 0
    """Calls of `put_writes`."""

    @property
    def cpu(self) -> float:
        """Seconds of this process's CPU in all of the calls."""
        return self.put + self.put_writes

    def since(self, earlier: Spent) -> Spent:
        """Return what was used after `earlier`."""
        return Spent(*(now - then for now, then in zip(self, earlier, strict=True)))


class Meter:
    """Wraps the methods of one checkpointer."""

    def __init__(self, saver: Any) -> None:
        self._lock = threading.Lock()
        self._spent = Spent()
        self._active = 0
        self._since = 0.0
        for name in (PUT, PUT_WRITES):
            setattr(saver, name, self._timed(getattr(saver, name), name))
            setattr(saver, f"a{name}", self._atimed(getattr(saver, f"a{name}"), name))

    def read(self) -> Spent:
        """Return what was used so far."""
        with self._lock:
            return self._spent

    def executor(self) -> ThreadPoolExecutor:
        """Return a default executor for the event loop that counts the CPU of what the checkpointer sends to it."""
        return _MeteredExecutor(self)

    def add_cpu(self, name: str, seconds: float) -> None:
        """Count CPU that a call took."""
        with self._lock:
            spent = self._spent
            self._spent = spent._replace(**{name: getattr(spent, name) + seconds})

    def _enter(self) -> None:
        with self._lock:
            self._active += 1
            if self._active == 1:
                self._since = time.perf_counter()

    def _leave(self, name: str) -> None:
        with self._lock:
            self._active -= 1
            wall = time.perf_counter() - self._since if self._active == 0 else 0.0
            spent, of_put = self._spent, name == PUT
            self._spent = spent._replace(
                wall=spent.wall + wall, puts=spent.puts + of_put, writes=spent.writes + (not of_put)
            )

    def _timed(self, call: Callable[..., Any], name: str) -> Callable[..., Any]:
        @functools.wraps(call)
        def timed(*args: Any, **kwargs: Any) -> Any:
            self._enter()
            started = time.thread_time()
            try:
                return call(*args, **kwargs)
            finally:
                self.add_cpu(name, time.thread_time() - started)
                self._leave(name)

        return timed

    def _atimed(self, call: Callable[..., Coroutine[Any, Any, Any]], name: str) -> Callable[..., Any]:
        @functools.wraps(call)
        async def timed(*args: Any, **kwargs: Any) -> Any:
            self._enter()
            token = _call.set(name)
            try:
                return await _stepwise(call(*args, **kwargs), self, name)
            finally:
                _call.reset(token)
                self._leave(name)

        return timed


class _MeteredExecutor(ThreadPoolExecutor):
    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        name = _call.get()

        def metered() -> Any:
            started = time.thread_time()
            try:
                return fn(*args, **kwargs)
            finally:
                self._meter.add_cpu(name, time.thread_time() - started)

        return super().submit(metered)


@types.coroutine
def _stepwise(coroutine: Coroutine[Any, Any, Any], meter: Meter, name: str) -> Generator[Any, Any, Any]:
    """Run `coroutine` step by step, so that what other tasks do while it waits is not counted."""
    step: Callable[[Any], Any] = coroutine.send
    argument: Any = None
    while True:
        started = time.thread_time()
        try:
            waiting = step(argument)
        except StopIteration as stop:
            return stop.value
        finally:
            meter.add_cpu(name, time.thread_time() - started)
        try:
            step, argument = coroutine.send, (yield waiting)
        except BaseException as error:  # noqa: BLE001  # whatever it is, it is the coroutine's to handle
            step, argument = coroutine.throw, error
