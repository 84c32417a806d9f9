"""Tell what the location of a source names: a database, or a file of some kind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, Literal

from discreet.errors import ImportSourceError

Kind = Literal["postgres", "sqlite", "json"]

_POSTGRES: Final = re.compile(r"postgres(?:ql)?(?:\+\w+)?://")
"""As libpq writes it, and with the driver that SQLAlchemy wants to know."""
_SQLITE_URL: Final = re.compile(r"sqlite(?:\+\w+)?:///")
_KEYWORDS: Final = re.compile(r"(?:^|\s)(?:host|hostaddr|dbname|service)\s*=")
_SQLITE_HEADER: Final = b"SQLite format 3\0"


def located(location: str) -> tuple[Kind, str]:
    """Return what `location` names, and the DSN or the path of it.

    Raises:
        ImportSourceError: There is no such file.
    """
    if found := _POSTGRES.match(location):
        return "postgres", f"postgresql://{location[found.end() :]}"
    path = Path(_SQLITE_URL.sub("", location, count=1)).expanduser()
    try:
        with path.open("rb") as file:
            return ("sqlite" if file.read(len(_SQLITE_HEADER)) == _SQLITE_HEADER else "json"), str(path)
    except (OSError, ValueError) as error:
        if _KEYWORDS.search(location):
            return "postgres", location
        # Without the name: a DSN that was mistyped holds a password.
        raise ImportSourceError(
            f"The source is no DSN (postgresql://…) and no file that can be read ({type(error).__name__})."
        ) from None
