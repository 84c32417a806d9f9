"""The numbered SQL files: what they hold, and how it has to be run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable

from discreet.errors import MigrationError

OUTSIDE = "-- not in a transaction"
"""First line of a file whose statements can't run in a transaction, such as CREATE INDEX CONCURRENTLY.

A table that may have many rows gets its indexes so, since any other way keeps writers waiting until the index is there. Each
statement ends with a semicolon at the end of its line, and has to do no harm when it is run again: a process that is killed
half-way leaves the file unrecorded.
"""

_END = re.compile(r";[ \t]*$", re.MULTILINE)
_COMMENT = re.compile(r"^\s*--.*$", re.MULTILINE)
_CREATES_INDEX = re.compile(r"CREATE\s+(?:UNIQUE\s+)?INDEX\b", re.IGNORECASE)
_INDEX = re.compile(
    r"""CREATE \s+ (?:UNIQUE \s+)? INDEX \s+ CONCURRENTLY \s+ IF \s+ NOT \s+ EXISTS \s+
        (?P<name>\w+) \s+ ON \s+ (?P<schema>\w+|"[^"]+") \. """,
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True)
class Migration:
    """One numbered SQL file."""

    name: str
    """File name without its extension; files apply in the order of names."""
    sql: str
    """Statements, run in one transaction, or one by one where the first line is `OUTSIDE`."""

    @property
    def checksum(self) -> str:
        """SHA-256 of the file, in hex."""
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def in_transaction(self) -> bool:
        """Whether all of it takes effect at once."""
        return self.sql.split("\n", 1)[0].strip() != OUTSIDE

    @property
    def statements(self) -> Sequence[str]:
        """What is run one by one, where it is not run in a transaction."""
        parts = _END.split(_COMMENT.sub("", self.sql))
        return [statement for part in parts if (statement := part.strip())]


def built_index(statement: str) -> str | None:
    """Return the index that `statement` builds, with its schema; None if it builds none.

    Raises:
        MigrationError: It would do harm when it is run again after it was broken off.

    Example:
        >>> built_index("CREATE INDEX CONCURRENTLY IF NOT EXISTS memory_age ON discreet.memory (created_at)")
        'discreet.memory_age'
    """
    if _CREATES_INDEX.match(statement) is None:
        return None
    found = _INDEX.match(statement)
    if found is None:
        raise MigrationError(
            "An index of a migration outside a transaction has to be written as "
            "CREATE INDEX CONCURRENTLY IF NOT EXISTS name ON schema.table …"
        )
    return f"{found['schema']}.{found['name']}"


def released(folder: Traversable | None = None) -> list[Migration]:
    """Return the migrations of this version, or those of a `folder`, in their order."""
    folder = folder or resources.files("discreet.storage.database.migrating.sql.migrations")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return [Migration(file.name.removesuffix(".sql"), file.read_text("utf-8")) for file in files]
