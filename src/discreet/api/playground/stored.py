"""What the database holds of one user, row by row, as it is stored."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from discreet.driver_errors import storage_errors
from discreet.storage import Storage
from discreet.storage.database.connecting.connection import connect
from discreet.storage.database.readable_rows import readable_tables

MAX_ROWS: Final = 30
"""Of a table, the newest."""
MAX_CHARS: Final = 2_000
"""Of one value."""

TITLES: Final[Mapping[str, str]] = {
    "conversation_log": "Conversation log",
    "checkpoint_messages": "Messages of the checkpoints",
    "memory": "Long-term memories",
    "session_record": "Sessions",
    "rolling_summary": "Rolling summaries",
    "session_summary": "Session summaries",
    "memory_proposal": "Memories that wait for a yes",
    "short_term_round": "Last rounds, for a day",
}
"""Tables that have what was said, or what was made of it, in the order in which they are shown. All others come after them."""

OPENED: Final = frozenset({"conversation_log", "memory"})
"""Of these, those whose rows are in sight at first."""

WORDS: Final[Sequence[str]] = ("input_text", "output_text", "content", "text", "said", "intent", "record", "blob")
"""Columns that have it."""


@dataclass(frozen=True)
class StoredRow:
    """One row."""

    values: Mapping[str, str]
    """What is in its columns, as text; empty ones are left out."""

    @property
    def words(self) -> Mapping[str, str]:
        """What was said, by column."""
        return {name: self.values[name] for name in WORDS if name in self.values}

    @cached_property
    def digest(self) -> str:
        """Tells it from others, and from what it was before it was changed."""
        return hashlib.sha256(repr(sorted(self.values.items())).encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True)
class StoredTable:
    """The rows of one table that are a user's."""

    name: str
    """Without its schema."""
    count: int
    rows: Sequence[StoredRow]
    """Newest first, and not all where there are many."""

    @property
    def has_words(self) -> bool:
        """Whether it has what was said, or what was made of it."""
        return self.name in TITLES


async def stored_tables(storage: Storage, user_id: str) -> list[StoredTable]:
    """Return all tables that have rows of a user, those with words first. They are read as the owner of the tables, past all that opens or restores.

    Raises:
        StorageError: The database can't be read.
    """
    with storage_errors():
        async with await connect(storage.access.owner) as connection:
            found = [
                StoredTable(
                    table.name.rpartition(".")[2], table.count, [StoredRow(row) for row in reversed(table.rows)]
                )
                async for table in readable_tables(
                    connection, user_key=storage.background.key_of(user_id), max_rows=MAX_ROWS, max_chars=MAX_CHARS
                )
            ]
    return sorted(found, key=_order)


def digests_of(tables: Iterable[StoredTable]) -> frozenset[str]:
    """Return what tells the rows of `tables` from later ones."""
    return frozenset(row.digest for table in tables for row in table.rows)


def _order(table: StoredTable) -> tuple[int, str]:
    place = [*TITLES].index(table.name) if table.has_words else len(TITLES)
    return place, table.name
