"""How far an import is: a small file in the data folder, for its owner alone, gone when the import is finished.

It has no text of a user but the mark of the last row, which in stores and sessions is a key of theirs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pydantic import BaseModel, Field, ValidationError

from discreet.errors import ImportSourceError
from discreet.importing.report import Report
from discreet.private_files import make_private, remove_private, replace_private

if sys.platform != "win32":
    import fcntl


_RUNNING: Final = "This import is running already. Wait until it is through, then run it again."


class Progress(BaseModel):
    """What another run needs to go on."""

    begun_at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    """Who is erased after this gets nothing more of this import, however often it is gone on with."""
    mark: str | None = None
    """All rows up to this one are settled."""
    bad_size: int = 0
    """Bytes of the file of bad rows by then."""
    bad_file: str = ""
    """That file."""
    report: Report


class ProgressFile:
    """The file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes from running the same import meanwhile. However this one ends, the lock goes with it.

        Raises:
            ImportSourceError: One is running it.
        """
        make_private(self.path.parent, only=())
        lock = self.path.with_suffix(".lock")
        with os.fdopen(os.open(lock, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            if sys.platform != "win32":
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise ImportSourceError(_RUNNING) from None
                # The other ended since it was opened, and a third may have begun.
                if os.fstat(file.fileno()).st_nlink == 0:
                    raise ImportSourceError(_RUNNING)
            try:
                yield
            finally:
                lock.unlink(missing_ok=True)

    def read(self) -> Progress | None:
        """Return how far an import is that was broken off; None if there is none.

        Raises:
            ImportSourceError: It can't be read.
        """
        try:
            return Progress.model_validate_json(self.path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError):
            raise ImportSourceError(
                f"{self.path} can't be read. Delete it and run the import again without --resume: what is there stays."
            ) from None

    def write(self, progress: Progress) -> None:
        """Put `progress` in the place of what it says, as a whole.

        Raises:
            ImportSourceError: It can't be written.
        """
        try:
            make_private(self.path.parent, only=())
            replace_private(self.path, progress.model_dump_json().encode())
        except OSError as error:
            raise ImportSourceError(
                f"{self.path} can't be written ({type(error).__name__}). Set DISCREET_DATA_DIR to a folder that can."
            ) from None

    def remove(self) -> None:
        """Forget it: the import is finished."""
        remove_private(self.path)
