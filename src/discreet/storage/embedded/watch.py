"""Bringing a server back whose supervisor was killed with it, and telling whether that may still succeed."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import EmbeddedServerError

PERIOD_SECONDS = 1.0
"""From one look to the next; a look takes a tenth of a millisecond."""
MAX_PAUSE_SECONDS = 60.0
"""Between two attempts to start a server that can't be started; the first pause is two seconds, each doubles."""

logger = logging.getLogger(__name__)


class ServerWatch:
    """Looks after the server of a data folder on which this process holds a lease."""

    def __init__(self, dsn: str, data_dir: Path, version: int) -> None:
        """Look at the server of `version` in `data_dir`."""
        self.dsn = dsn
        self._data_dir, self._version = data_dir.resolve(), version
        self.failures = 0
        self._not_before = 0.0

    async def look(self) -> None:
        """Bring the server back if it has nobody else who does. What can't be helped is logged, less and less often."""
        if time.monotonic() < self._not_before or sys.platform == "win32":
            return
        # Imported here because it needs fcntl, which Windows lacks.
        from discreet.storage.embedded.lease import bring_back

        try:
            await asyncio.to_thread(bring_back, self._data_dir, self._version)
        except (EmbeddedServerError, OSError) as error:
            self.failures += 1
            pause = min(MAX_PAUSE_SECONDS, 2.0**self.failures)
            self._not_before = time.monotonic() + pause
            logger.warning("embedded server can't be started, next attempt in %.0f s: %s", pause, error)
        else:
            self.failures = 0


_watches: set[ServerWatch] = set()
"""Those of this process."""


@contextmanager
def watched(dsn: str, data_dir: Path, version: int) -> Iterator[ServerWatch]:
    """Yield the watch of a server, which `is_coming_back` knows inside the block."""
    watch = ServerWatch(dsn, data_dir, version)
    _watches.add(watch)
    try:
        yield watch
    finally:
        _watches.discard(watch)


def is_coming_back(dsn: str) -> bool:
    """Tell whether `dsn` is that of an embedded server of this process that is started again whenever it ends.

    False once an attempt to do so has failed.
    """
    mine = [watch for watch in _watches if watch.dsn == dsn]
    return bool(mine) and not any(watch.failures for watch in mine)
