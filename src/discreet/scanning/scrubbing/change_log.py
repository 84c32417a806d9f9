"""Keep a log of what was changed: which row, by digest, and what its value was and is, by digest. No value is in it."""

from __future__ import annotations

import hmac
import json
import os
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import IO

from discreet.errors import ScanError
from discreet.redaction.placeholder_key import default_key
from discreet.scanning.counting import digest_of
from discreet.scanning.databases import Key, Table


class ChangeLog:
    """A file of JSON lines."""

    def __init__(self, path: Path) -> None:
        """Write below what `path` has already. It is made with the first change, for its owner alone."""
        self._path = path
        self._file: IO[str] | None = None

    def changed(
        self, table: Table, key: Key, column: str, before: str | bytes | None, after: str | bytes | None
    ) -> None:
        """Note that a value was replaced."""
        self._write("changed", table, key, column=column, before=_digest(before), after=_digest(after))

    def deleted(self, table: Table, key: Key) -> None:
        """Note that a row was deleted."""
        self._write("deleted", table, key)

    def flush(self) -> None:
        """Have what was noted in the file. Call it before the changes take effect.

        Raises:
            ScanError: It can't be written.
        """
        if self._file is None:
            return
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._unwritable(error) from None

    def close(self) -> None:
        """Close the file. What counts of it was written by `flush`."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()

    def _write(self, what: str, table: Table, key: Key, **more: str | None) -> None:
        line = {
            "at": datetime.now(UTC).isoformat(),
            "what": what,
            "table": table.label,
            "row": digest_of("row", table.schema, table.name, *key),
            **more,
        }
        try:
            if self._file is None:
                opened = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                self._file = os.fdopen(opened, "a", encoding="utf-8")
            print(json.dumps(line), file=self._file)
        except OSError as error:
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> ScanError:
        return ScanError(
            f"The log {self._path} can't be written ({error.strerror}). Name another with --log. These rows are as they were."
        )


def _digest(value: str | bytes | None) -> str | None:
    """Return a keyed digest: an unkeyed one of a short value could be guessed."""
    if value is None:
        return None
    data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
    return hmac.new(default_key(), b"scrub\0" + data, sha256).hexdigest()[:32]
