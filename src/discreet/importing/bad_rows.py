"""The file of bad rows: for its owner alone, there only if there are any, and cut back to where an import goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from discreet.errors import ImportSourceError
from discreet.importing.source import BadRow
from discreet.private_files import make_private
from discreet.rights.erasure.bad_rows import FOLDER

_FLAGS = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)


def default_file(data_dir: Path, name: str) -> Path:
    """Return where bad rows go of which nobody says where: in the data folder, where `discreet verify-erasure` looks."""
    return data_dir / FOLDER / f"{name}.jsonl"


class BadRowsFile:
    """Bad rows as JSON lines, with what the source has of each.

    What is there from another run is replaced where its name is ours to give, and never where somebody else gave it.
    """

    def __init__(self, path: Path, *, replaces: bool = False) -> None:
        """Write to `path`; `replaces` says that it may take the place of a file that is there, which is then one of ours."""
        self.path = path
        self.size = 0
        self._replaces = replaces

    @property
    def name(self) -> str:
        """The file, wherever somebody asks."""
        return str(self.path.resolve())

    def begin(self, size: int, *, began: str = "") -> None:
        """Begin anew, or behind the first `size` bytes that an import which is gone on with has written to the file `began`.

        Raises:
            ImportSourceError: There is a file already that is none of this import's, or its own is gone.
        """
        there = self.path.stat().st_size if self.path.exists() else None
        is_same = began == self.name
        if size == 0 and there is not None and not self._replaces and not is_same:
            raise ImportSourceError(f"{self.path} is there already. Name a new file for bad rows (--bad-rows).")
        if size and (not is_same or size > (there or 0)):
            raise ImportSourceError(
                f"{self.path} is not the file of bad rows that this import began. Name that one (--bad-rows), or import again without --resume."
            )
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
            if self._replaces:
                make_private(self.path.parent, only=())
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
    key = {} if row.key is None else {"key": _text(row.key)}
    told = {**key, "mark": row.mark, "reason": row.reason, "raw": None if row.raw is None else _text(row.raw)}
    return json.dumps(told, ensure_ascii=False).encode() + b"\n"


def _text(told: bytes) -> str:
    return told.decode("utf-8", "backslashreplace")
