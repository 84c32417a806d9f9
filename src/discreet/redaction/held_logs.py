"""Hold log lines back while a process starts, so that it need not load the recognisers before it serves."""

from __future__ import annotations

import atexit
import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

LONGEST_SECONDS = 10.0
"""Who starts a server that waits for its database wants to read why."""


class HeldLogs(logging.Filter):
    """Keeps all that this process logs from now on from its handlers, until `release`, an error, ten seconds, or its end.

    `prepare` is called once before the first line goes on, as to have logs redacted. Records that were held pass the filters
    of their logger and its handlers then.
    """

    def __init__(self, prepare: Callable[[], object]) -> None:
        super().__init__()
        self._prepare = prepare
        self._held: deque[logging.LogRecord] = deque()
        self._adding, self._releasing = threading.Lock(), threading.Lock()
        self._handing_on: int | None = None
        self._released = False
        self._previous = logging.getLogRecordFactory()
        for logger in (logging.root, *logging.root.manager.loggerDict.values()):
            if isinstance(logger, logging.Logger):
                logger.addFilter(self)
        logging.setLogRecordFactory(self._make)
        self._timer = threading.Timer(LONGEST_SECONDS, self.release)
        self._timer.daemon = True
        self._timer.start()
        atexit.register(self.release)

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether `record` may go on now. One that may not is kept; an error brings what was kept before it along."""
        if self._handing_on == threading.get_ident():
            return True
        with self._adding:
            if self._released:
                return True
            self._held.append(record)
        if record.levelno >= logging.ERROR:
            self.release()
        return False

    def release(self) -> None:
        """Let everything go on, in its order. Where another thread is at it, there is nothing to do."""
        if not self._releasing.acquire(blocking=False):
            return
        try:
            if not self._released:
                self._prepare()
                self._hand_on()
        finally:
            self._releasing.release()

    def _hand_on(self) -> None:
        self._handing_on = threading.get_ident()
        try:
            while not self._released:
                while self._held:
                    record = self._held.popleft()
                    logging.getLogger(record.name).handle(record)
                with self._adding:
                    self._released = not self._held
        finally:
            self._handing_on = None
            self._released = True
        self._timer.cancel()
        atexit.unregister(self.release)
        for logger in (logging.root, *logging.root.manager.loggerDict.values()):
            if isinstance(logger, logging.Logger):
                logger.removeFilter(self)

    def _make(self, name: str, *args: Any, **kwargs: Any) -> logging.LogRecord:
        logger = logging.root if name == logging.root.name else logging.root.manager.loggerDict.get(name)
        if not self._released and isinstance(logger, logging.Logger):  # it may be new
            logger.addFilter(self)
        return self._previous(name, *args, **kwargs)
