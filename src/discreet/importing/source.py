"""What a source of an import yields, whatever it reads: rows of one shape, and what could not be read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from discreet.rights.exporting.format import ExportRecord, MessageRow
from discreet.state.records import MemoryRecord, TurnRecord


@dataclass(frozen=True, kw_only=True)
class StoreItem:
    """An item of a LangGraph store."""

    namespace: tuple[str, ...]
    key: str
    value: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    ttl_minutes: float | None = None
    """How long it lives after it was written or read; None: for ever."""


@dataclass(frozen=True, kw_only=True)
class ThreadState:
    """Where a thread of a checkpointer stands: its newest state, in one namespace."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str
    created_at: str
    """As LangGraph has it."""
    values: dict[str, Any]
    """By channel, as JSON; without those of messages."""
    messages: dict[str, list[MessageRow]]
    """By channel, in their order."""


@dataclass(frozen=True, kw_only=True)
class SourceRow:
    """One row as its source has it: not redacted, not stored."""

    mark: str
    """Where in the source it is: an import that was broken off goes on after it. Grows in the order of the rows; no text of
    a user, but a key where the source is ordered by keys."""
    user_id: str | None
    """Whose it is, as far as the source says."""
    record: MemoryRecord | TurnRecord | StoreItem | ThreadState | ExportRecord
    """What to store. Its id is the source's, or made of the source's id (uuid5), so that a second import is the same. A row of an
    export stays one where there is more to store than a record has."""


@dataclass(frozen=True, kw_only=True)
class BadRow:
    """A row that can't be read, or can't be what is stored here."""

    mark: str
    """As of `SourceRow`."""
    reason: str
    """Why, without any text of the row."""
    raw: bytes | None = field(default=None, repr=False)
    """What the source has, for the file of bad rows, which the user's own machine keeps."""
    key: bytes | None = field(default=None, repr=False)
    """Where the source has it, if a mark doesn't tell, for that file alone."""


@dataclass(frozen=True, kw_only=True)
class LeftOutRow:
    """A row of a kind that is never imported."""

    mark: str
    """As of `SourceRow`."""
    kind: str
    """Of what kind it is, as the report names it."""
    reason: str
    """Why that kind is left out."""


class Source(Protocol):
    """A source of an import."""

    name: str
    """What the provenance of its records says: `import:<name>`."""

    async def count(self) -> int | None:
        """Return how many rows there are, for the progress bar; None if that is not known cheaply.

        Raises:
            ImportSourceError: It can't be read.
        """
        ...

    def rows(self, *, after: str | None = None) -> AsyncIterator[SourceRow | BadRow | LeftOutRow]:
        """Yield its rows in one order, always the same; those that come after the mark `after`.

        Raises:
            ImportSourceError: It can't be read, or is of another kind.
        """
        ...
