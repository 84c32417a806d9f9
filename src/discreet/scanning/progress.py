"""Remember how far a scan or a scrub is, so that one that was broken off goes on there.

The file has keys of rows, thread ids among them, which can be anybody's. It lies in the data folder, for its owner alone, and is
gone when the work is done.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from discreet.errors import ScanError
from discreet.private_files import make_private, remove_private, replace_private

FORMAT = 1


class ProgressFile:
    """How far one piece of work on one database is."""

    def __init__(self, folder: Path, work: str, *of: object) -> None:
        """Name the file by the `work` and by what it is done to: another database or other options are another file."""
        digest = sha256(json.dumps([str(each) for each in of]).encode()).hexdigest()[:16]
        self.path = folder / f"{work}-{digest}.json"

    def load(self) -> dict[str, Any] | None:
        """Return what was kept last; None if there is nothing.

        Raises:
            ScanError: The file is there and can't be read.
        """
        try:
            kept = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise ScanError(f"{self.path} can't be read ({type(error).__name__}). Delete it to begin anew.") from None
        return kept if isinstance(kept, dict) and kept.get("format") == FORMAT else None

    def save(self, kept: dict[str, Any]) -> None:
        """Keep `kept` in the place of what was kept before, whole or not at all.

        Raises:
            ScanError: It can't be written.
        """
        try:
            make_private(self.path.parent, only=())
            replace_private(self.path, json.dumps({**kept, "format": FORMAT}).encode())
        except OSError as error:
            raise ScanError(f"{self.path} can't be written ({type(error).__name__}).") from None

    def done(self) -> None:
        """Delete it."""
        remove_private(self.path)
