"""Let what belongs to one event loop be awaited from others, and from threads that have one of their own.

Connections of a pool work on the loop that opened them only. LangGraph runs blocking graphs in threads, and their nodes on a
background loop: their calls hop to the storage's loop and back.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from functools import wraps
from typing import Any, TypeVar, cast

from discreet.errors import ForkedProcessError, StorageClosedError, StorageUnavailableError

P = TypeVar("P")

ACCEPT_SECONDS = 5.0
"""How long another loop may take to begin a call. A loop that is alive does in milliseconds."""


def bound_to_loop(part: P, loop: asyncio.AbstractEventLoop) -> P:
    """Return `part` with coroutine methods that run on `loop`, whoever awaits them. On `loop` itself they run as they are.

    In a process that was forked since they raise `ForkedProcessError`: its copy of `loop` runs nothing.

    A cancelled caller cancels the call; errors, results and context variables pass.
    """
    return cast("P", _LoopBound(part, loop))


class _LoopBound:
    """Stands for `part`: attributes are its own, also those that are set."""

    def __init__(self, part: object, loop: asyncio.AbstractEventLoop) -> None:
        self.__dict__.update(_part=part, _loop=loop, _process=os.getpid())

    @property  # type: ignore[misc]  # isinstance() asks for this, and is to answer for the part
    def __class__(self) -> type:
        return type(self._part)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._part, name)
        if not inspect.iscoroutinefunction(found):
            return found
        call = self.__dict__[name] = _hopping(found, self._loop, self._process)  # found here at once the next time
        return call

    def __setattr__(self, name: str, value: object) -> None:
        self.__dict__.pop(name, None)
        setattr(self._part, name, value)


def _hopping(
    method: Callable[..., Awaitable[Any]], loop: asyncio.AbstractEventLoop, process: int
) -> Callable[..., Awaitable[Any]]:
    @wraps(method)
    async def call(*args: Any, **kwargs: Any) -> Any:
        if asyncio.get_running_loop() is loop:
            return await method(*args, **kwargs)
        if os.getpid() != process:
            raise ForkedProcessError
        return await _hop(loop, lambda: method(*args, **kwargs))

    return call


async def _hop(loop: asyncio.AbstractEventLoop, call: Callable[[], Awaitable[Any]]) -> Any:
    """Await `call` on `loop`.

    Raises:
        StorageUnavailableError: `loop` has ended, or stands still in a blocking call that may even wait for this one.
    """
    begun: Future[None] = Future()

    async def run() -> Any:
        if not begun.set_running_or_notify_cancel():
            return None  # nobody waits any more
        begun.set_result(None)
        return await call()

    running = run()
    try:
        future = asyncio.run_coroutine_threadsafe(running, loop)
    except RuntimeError:  # the loop is closed
        running.close()
        raise StorageClosedError("The storage is closed: the event loop that opened it has ended.") from None
    outcome = asyncio.wrap_future(future)
    try:
        async with asyncio.timeout(ACCEPT_SECONDS):
            await asyncio.shield(asyncio.wrap_future(begun))
    except TimeoutError:
        if begun.cancel():
            raise StorageUnavailableError(
                "The event loop that opened the storage does not answer: it has stopped, or a blocking call such as "
                "graph.invoke() was made on it. Await graph.ainvoke() there, or call invoke in a thread (asyncio.to_thread)."
            ) from None
    except asyncio.CancelledError:
        begun.cancel()
        future.cancel()
        raise
    try:
        return await outcome
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise StorageClosedError("The storage was closed while it was in use.") from None
