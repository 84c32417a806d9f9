"""The file of bad rows: for its owner alone, there only if there are any, and cut back to where an import goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from discreet.errors import ImportSourceError
from discreet.importing.source import BadRow

_FLAGS = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)


class BadRowsFile:
    """Bad rows as JSON lines, with what the source has of each."""

    def __init__(self, path: Path, *, size: int = 0) -> None:
        """Write to `path`, of whose content the first `size` bytes stay."""
        self.path = path
        self.size = size

    def add(self, rows: Iterable[BadRow]) -> None:
        """Add rows.

        Raises:
            ImportSourceError: The file can't be written.
        """
        lines = b"".join(map(_line, rows))
        if not lines:
            return
        try:
            with os.fdopen(os.open(self.path, _FLAGS, 0o600), "wb") as file:
                os.fchmod(file.fileno(), 0o600)
                file.truncate(self.size)
                file.seek(self.size)
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise ImportSourceError(
                f"{self.path} can't be written ({type(error).__name__}). Name another file for bad rows (--bad-rows)."
            ) from None
        self.size += len(lines)


def _line(row: BadRow) -> bytes:
    raw = None if row.raw is None else row.raw.decode("utf-8", "backslashreplace")
    return json.dumps({"mark": row.mark, "reason": row.reason, "raw": raw}, ensure_ascii=False).encode() + b"\n"
