"""Keys in a file that nobody else may read, followed while the process runs."""

from __future__ import annotations

import logging
import os
import stat
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from discreet.encryption.keyring import Keyring, read_keys
from discreet.errors import ConfigurationError
from discreet.ports import Key

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""How often the file is looked at, when keys are asked for: a `stat`, of some microseconds."""

MAX_BYTES = 1_000_000
"""That are read of the file."""

_OTHERS: Final = 0o077

_Mark = tuple[int, ...]


class FileKeys:
    """The keys of a file, one a line as `discreet key` prints them, or several with commas between; `#` begins a comment.

    The first seals, all of them open. Within a second of a change of the file its keys are used. A key that is asked for and
    not known has it looked at right away, so that what another process sealed under a new key can be opened here at once. A
    file that can't be used any more leaves the process with the keys that it had, and the log says so.
    """

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Read the file at `path`.

        Raises:
            ConfigurationError: It can't be read, others may read it, or it holds something else than keys.
        """
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._keys, self._mark = _read(path)
        self._looked = clock()

    def current(self) -> Key:
        """Return the first key."""
        if self._clock() - self._looked >= LOOK_SECONDS:
            self._look()
        return self._keys.current()

    def find(self, key_id: str) -> Key | None:
        """Return the key of that id."""
        if (found := self._keys.find(key_id)) is None:
            self._look()
            found = self._keys.find(key_id)
        return found

    def _look(self) -> None:
        """Read the file if it has changed."""
        self._looked = self._clock()
        try:
            mark = _mark(self._path.stat())
        except OSError:
            mark = ()
        with self._lock:
            if mark == self._mark:
                return
            try:
                self._keys, self._mark = _read(self._path)
            except ConfigurationError as error:
                self._mark = mark  # told once
                logger.warning("keys.file_not_taken %s", error)
            else:
                logger.info("keys.file_taken current=%s", self._keys.current().id)


def _read(path: Path) -> tuple[Keyring, _Mark]:
    """Return the keys of a file, and what tells that it has changed."""
    where = f"The file {path} of DISCREET_ENCRYPTION_KEYS_FILE"
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if sys.platform != "win32" and status.st_mode & _OTHERS:
                raise ConfigurationError(
                    f"{where} may be read or written by other users of this machine: chmod 600 it, and make new keys if "
                    "somebody may have read it."
                )
            if not stat.S_ISREG(status.st_mode):
                raise ConfigurationError(f"{where} is no file.")
            written = file.read(MAX_BYTES)
    except OSError as error:
        raise ConfigurationError(f"{where} can't be read ({type(error).__name__}).") from None
    lines = (line.partition(b"#")[0] for line in written.splitlines())
    entries = [entry.decode("ascii", "replace") for line in lines for entry in line.split(b",") if entry.strip()]
    return read_keys(entries, where), _mark(status)


def _mark(status: os.stat_result) -> _Mark:
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size
