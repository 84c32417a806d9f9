"""What sweeps one kind or a few: the interface that the loop takes, and what tables need of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, LiteralString, Protocol

from discreet.state.memory_settings import MemorySettings
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.expiry import Expiry, delete_expired
from discreet.storage.database.statements import fetch
from discreet.storage.retention.table import BY_NAME

BEFORE_ALL: Final = datetime(1, 1, 1, tzinfo=UTC)
"""What is kept without end goes if it is from before this time: never."""

Gone = Mapping[str, int]
"""How much went, by kind."""


@dataclass(frozen=True, kw_only=True)
class At:
    """When a sweep is made, and by which settings."""

    now: datetime
    settings: MemorySettings

    def until(self, kind: str | None) -> datetime:
        """Return the time before which what is of a kind goes; now, where each row says itself until when it stays."""
        kept = None if kind is None else BY_NAME[kind].kept(self.settings)
        return self.now if kept is None else self.now - min(kept, self.now - BEFORE_ALL)


@dataclass(frozen=True, kw_only=True)
class Due:
    """What of a kind would go."""

    kind: str
    rows: int
    oldest: datetime | None = None
    """Since when the oldest is there, or was to go where it says itself until when it stays."""


class Sweeper(Protocol):
    """Sweeps some kinds."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Their names."""
        ...

    def sweep(self, at: At, *, batch: int) -> AsyncGenerator[Gone, None]:
        """Delete what is due, at most `batch` rows in a transaction; yield what went after each, with no connection in hand."""
        ...

    async def due(self, at: At) -> list[Due]:
        """Return what `sweep` would delete. Nothing is changed."""
        ...


@dataclass(frozen=True, kw_only=True)
class TableSweeper:
    """Sweeps a kind whose rows go by a time that they have."""

    works: Pool
    kind: str
    expiries: Sequence[tuple[Expiry, str | None]]
    """What goes, and the kind whose time decides; None: the rows say themselves until when they stay."""
    batch: int | None = None
    """Rows in a transaction where each takes many others along; else what the sweep says."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The one."""
        return (self.kind,)

    async def sweep(self, at: At, *, batch: int) -> AsyncGenerator[Gone, None]:
        """Delete what is due."""
        for expiry, deciding in self.expiries:
            deleting = delete_expired(self.works, expiry, until=at.until(deciding), batch=self.batch or batch)
            async for rows in deleting:
                yield {self.kind: rows}

    async def due(self, at: At) -> list[Due]:
        """Return how many rows are."""
        counted = ((expiry.count, at.until(deciding)) for expiry, deciding in self.expiries)
        return [await due_of(self.kind, self.works, *counted)]


async def due_of(kind: str, works: Pool, *counted: tuple[LiteralString, datetime]) -> Due:
    """Return what statements find that count `rows`, and say of when the `oldest` is, each of what is from before a time."""
    found = [row for statement, until in counted for row in await fetch(works, statement, {"until": until})]
    oldest = min((row["oldest"] for row in found if row["oldest"] is not None), default=None)
    return Due(kind=kind, rows=sum(row["rows"] for row in found), oldest=oldest)
