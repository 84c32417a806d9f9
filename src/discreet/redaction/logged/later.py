"""Hand records on in another thread, in the order they came, so that whoever logs need not wait for them."""

from __future__ import annotations

import atexit
import contextvars
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from weakref import WeakSet

MOST_WAITING = 1_000
"""Records in line. Of what comes then and is not redacted yet, the words are left out: each may have 100,000 characters."""

FLUSH_SECONDS = 5.0
"""For how long a process that ends waits for its last lines."""

_lines: WeakSet[Later] = WeakSet()
_Waiting = tuple[contextvars.Context, logging.Logger, logging.LogRecord]


class Later:
    """A line of records and the thread that hands them on, which begins with the first and is a daemon.

    While a record waits, those that come after it wait behind it.
    """

    def __init__(self, prepare: Callable[[logging.LogRecord], None]) -> None:
        """`prepare` is what takes long; each record passes it in the thread before `Logger.handle`."""
        self._prepare = prepare
        self._begin()
        _lines.add(self)

    def _begin(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[_Waiting] = deque()
        self._thread: threading.Thread | None = None

    @property
    def is_handing_on(self) -> bool:
        """Whether this thread is the one that hands on, so that what it logs itself must not wait for it."""
        return self._thread is threading.current_thread()

    @property
    def is_busy(self) -> bool:
        """Whether records wait."""
        return bool(self._waiting)

    @property
    def is_full(self) -> bool:
        """Whether too many records wait."""
        return len(self._waiting) >= MOST_WAITING

    def add(self, logger: logging.Logger, record: logging.LogRecord) -> None:
        """Hand `record` on to `logger` once all before it were. Returns at once."""
        with self._changed:
            self._waiting.append((contextvars.copy_context(), logger, record))
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="discreet-logs", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def flush(self, seconds: float = FLUSH_SECONDS) -> bool:
        """Wait until nothing waits, so many seconds at most; tell whether that is so."""
        if self.is_handing_on:
            return False
        until = time.monotonic() + seconds
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting, until - time.monotonic())

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._waiting))
                context, logger, record = self._waiting[0]
            try:
                context.run(self._hand_on, logger, record)
            except Exception:  # noqa: BLE001  # a filter of somebody else's may raise anything, and the next line must not stay
                logging.Handler().handleError(record)
            with self._changed:
                self._waiting.popleft()
                self._changed.notify_all()

    def _hand_on(self, logger: logging.Logger, record: logging.LogRecord) -> None:
        self._prepare(record)
        logger.handle(record)


def flush() -> None:
    """Wait for the lines of all that redact logs in this process."""
    for line in list(_lines):
        line.flush()


def _forked() -> None:
    """Begin anew in a child process, which has no threads; what waits is its parent's to write."""
    for line in list(_lines):
        line._begin()  # noqa: SLF001  # of this module


atexit.register(flush)  # runs before the handlers are closed: `logging` was imported earlier
os.register_at_fork(after_in_child=_forked)
