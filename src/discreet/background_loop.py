"""One event loop in a thread of its own, for programs that have none."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from discreet.errors import ConfigurationError

T = TypeVar("T")


class BackgroundLoop:
    """Runs coroutines for blocking callers. The loop starts with the first and ends with the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run `coroutine` on the loop, with the caller's context variables, and return what it returns.

        Raises:
            ConfigurationError: The caller is on this loop: it would wait for itself.
        """
        loop = self._running()
        if _current_loop() is loop:
            coroutine.close()
            raise ConfigurationError(
                "A blocking call was made on the event loop that would have to serve it: await instead."
            )
        future = asyncio.run_coroutine_threadsafe(coroutine, loop)
        try:
            return future.result()
        except BaseException:  # the caller was interrupted, by a key for example; a future that is done doesn't mind
            future.cancel()
            raise

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="discreet-loop", daemon=True).start()
            return self._loop


def _current_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


_background = BackgroundLoop()


def _begin_anew() -> None:
    """Let a process that was just forked have a loop of its own: the thread of this one is not in it."""
    global _background  # noqa: PLW0603  # one a process
    _background = BackgroundLoop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def wait_for(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run `coroutine` to its end from code without an event loop, and return what it returns.

    All callers share one loop, so what is opened through this function can be used through it from any thread.

    Example:
        >>> async def answer() -> int:
        ...     return 42
        >>> wait_for(answer())
        42

    Raises:
        ConfigurationError: The caller is on the loop itself.
    """
    return _background.wait(coroutine)
