"""Export everything of a user, page by page: bounded RAM, and a mark after each page from which another export goes on.

What is guaranteed while rows change meanwhile: each page is one look at the database. Rows that are there all the time are
exported once, since no write changes the keys that pages begin after; those that are changed, as of one moment of the
export; those that come or go meanwhile, or don't.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, LiteralString
from uuid import UUID

from discreet.access.actor import Actor, acting, current_actor
from discreet.errors import EncryptionError, ExportError
from discreet.ports import AuditLog
from discreet.rights.exporting.format import KINDS, ExportRecord, UnreadableRow
from discreet.rights.exporting.source import Key, Reading
from discreet.rights.exporting.sources import SOURCES
from discreet.state.text import storable
from discreet.storage.database.sealing import report_unreadable
from discreet.storage.database.statements import fetch
from discreet.storage.wiring import Storage

PAGE: Final = 200
"""Rows read at a time. A memory with a long reasoning has 100 kB, most have 500 bytes."""

ACTION: Final = "user.export"

_EPOCH: LiteralString = "SELECT epoch FROM discreet.users WHERE user_key = %(user_key)s"


@dataclass(frozen=True)
class Mark:
    """How far an export is."""

    kind: str = next(iter(SOURCES))
    key: Key | None = None
    """Of the last row; None: before the first of that kind."""

    @property
    def token(self) -> str:
        """The mark as a text."""
        said = json.dumps([self.kind, *(self.key or ())], ensure_ascii=False)
        return base64.urlsafe_b64encode(said.encode()).decode()

    @classmethod
    def of(cls, token: str) -> Mark:
        """Return the mark of a token.

        Raises:
            ExportError: It is none of ours.
        """
        try:
            kind, *key = json.loads(base64.urlsafe_b64decode(token))
            types = SOURCES[kind].key_types
            is_ours = not key or (len(key) == len(types) and all(map(_fits, key, types)))
        except (binascii.Error, ValueError, KeyError, TypeError, RecursionError):
            is_ours = False
        if not is_ours:
            raise ExportError("The mark is none of an export. Give the `after` of the last line of the kind `mark`.")
        return cls(kind, tuple(key) or None)

    @property
    def next_kind(self) -> Mark | None:
        """Where the kind after this one begins; None: this is the last."""
        kinds = list(SOURCES)
        at = kinds.index(self.kind) + 1
        return Mark(kinds[at]) if at < len(kinds) else None


@dataclass(frozen=True, kw_only=True)
class Page:
    """Some records of one kind, perhaps none, with what of that kind can't be read."""

    kind: str
    records: Sequence[ExportRecord]
    after: Mark | None
    """Where the next page begins; None: this was the last."""

    def of(self, kind: str) -> list[ExportRecord]:
        """Return those for the file of a kind: the page's own, or `unreadable`."""
        return [record for record in self.records if type(record) is KINDS[kind]]

    def encoded(self) -> Iterator[tuple[str, bytes]]:
        """Yield the records as JSON, each with the kind of its file; those of one kind one after the other."""
        for kind in (self.kind, "unreadable"):
            for record in self.of(kind):
                yield kind, record.model_dump_json().encode()


@dataclass(frozen=True, kw_only=True)
class Export:
    """One export of one user, begun."""

    reading: Reading
    audit: AuditLog
    actor: Actor = field(default_factory=current_actor)
    """Who asked for it; what reads it later may not know any more."""
    begins: Mark = Mark()
    made_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    rows: Counter[str] = field(default_factory=Counter)
    """Handed out so far, by kind."""
    unreadable: Counter[str] = field(default_factory=Counter)
    """Of them those that can't be read, by the kind that they are of."""

    @property
    def user(self) -> UUID:
        """The user's pseudonym."""
        return self.reading.user_key

    async def pages(self) -> AsyncGenerator[Page]:
        """Yield page after page. Close it where you leave it early: the audit trail says how much was handed out.

        Raises:
            StorageError: The database failed, or the audit trail can't be written; another export may go on from the last page.
        """
        await self._record(success=True)  # at once: whoever reads half of it and is gone has read it
        finished = False
        mark: Mark | None = self.begins
        try:
            while mark is not None:
                page = await read_page(self.reading, mark)
                self.rows.update(_kind_of(record, page.kind) for record in page.records)
                lost = [record for record in page.records if isinstance(record, UnreadableRow)]
                self.unreadable.update(record.kind for record in lost)
                report_unreadable(page.kind, [record.key[-1] for record in lost if record.code == EncryptionError.code])
                yield page
                mark = page.after
            finished = True
        finally:
            await asyncio.shield(self._record(success=finished))

    async def epoch(self) -> int | None:
        """Return how often all of the user's was erased, and once; None: nothing was ever kept of them.

        Raises:
            StorageError: The database failed.
        """
        rows = await fetch(self.reading.pool, _EPOCH, self.reading.parameters)
        return rows[0]["epoch"] if rows else None

    async def _record(self, *, success: bool) -> None:
        with acting(self.actor):
            await self.audit.record(ACTION, user_key=self.user, data="all", success=success, counts=dict(self.rows))


def begin(
    storage: Storage,
    user_id: str,
    *,
    namespaces: Sequence[Sequence[str]] = (),
    checkpoint_schema: str | None = None,
    vectors: bool = False,
    after: str | None = None,
) -> Export:
    """Return an export of everything of a user, or of what comes after a mark.

    Raises:
        InvalidUserError: `user_id` can't be used.
        ExportError: `after` is no mark.

    Example:
        >>> from discreet.storage import open_storage
        >>> async def memories(dsn: str) -> int:
        ...     async with open_storage(dsn) as storage:
        ...         return sum([len(page.of("memories")) async for page in begin(storage, "ann").pages()])
    """
    reading = Reading(
        user_id=storage.background.keys.ids.user_id(user_id, stores=False),
        user_key=storage.background.key_of(user_id),
        keys=storage.background.keys,
        pool=storage.pool,
        sealer=storage.sealer,
        short_term=storage.short_term,
        namespaces=namespaces,
        checkpoint_schema=checkpoint_schema,
        vectors=vectors,
    )
    return Export(reading=reading, audit=storage.audit, begins=Mark() if after is None else Mark.of(after))


async def read_page(reading: Reading, mark: Mark, rows: int = PAGE) -> Page:
    """Return the page of about `rows` records that begins after `mark`.

    Raises:
        StorageError: The database failed.
    """
    records, last = await SOURCES[mark.kind].page(reading, mark.key, rows)
    after = mark.next_kind if last is None else Mark(mark.kind, last)
    return Page(kind=mark.kind, records=records, after=after)


def _kind_of(record: ExportRecord, kind: str) -> str:
    return "unreadable" if isinstance(record, UnreadableRow) else kind


def _fits(part: Any, kind: type) -> bool:
    """Return whether a part of a token is what a key has there."""
    if kind is UUID:
        return isinstance(part, str) and str(UUID(part)) == part
    if kind is int:
        return type(part) is int and 0 <= part < 2**63
    return isinstance(part, str) and storable(part) == part
