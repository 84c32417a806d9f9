"""Take the rows of a source over into a storage: redacted, once, each whole or not at all.

Rows are read some at a time, and those of a user are written in one transaction. What is there by its id stays as it is, so that
an import may be run again after anything, and goes on after the last rows that are settled.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import asdict, dataclass, field
from typing import Any, Final, cast

from discreet.access.epochs import begun
from discreet.errors import ImportSourceError, MemoryRefusedError, UserErasedError
from discreet.importing.bad_rows import BadRowsFile
from discreet.importing.checking import Checker, kind_of
from discreet.importing.progress import Progress, ProgressFile
from discreet.importing.report import Report
from discreet.importing.room import Room
from discreet.importing.source import BadRow, LeftOutRow, Source, SourceRow, StoreItem, ThreadState
from discreet.importing.writing import Writer, Written, keys_of
from discreet.state.records import MemoryRecord
from discreet.storage.memories.memories import PostgresMemories
from discreet.storage.memories.unit_of_work import Prepared
from discreet.storage.wiring import Storage

CHUNK: Final = 500
"""Rows that are read, embedded and settled together."""

AT_ONCE: Final = 4
"""Users who are written for at the same time."""

_OVER: Final = (
    "the user has as many memories as one may have (max_memories_per_user): raise the setting and import again"
)

AnyRow = SourceRow | BadRow | LeftOutRow
Told = Callable[[Report], None]
"""Hears how far an import is."""
Sample = Callable[[Any], None]
"""Hears of redacted records."""


@dataclass(frozen=True, kw_only=True)
class Importer:
    """One import, which is run once."""

    storage: Storage
    checker: Checker
    bad_rows: BadRowsFile
    progress: ProgressFile
    dry_run: bool = False
    """Read everything, count, and store nothing."""
    told: Told = lambda _: None
    sample: Sample | None = None
    _began: dict[str, str] = field(default_factory=dict)
    """Under what the work for each user began."""
    _erased: set[str] = field(default_factory=set)
    _rooms: dict[str, Room] = field(default_factory=dict)
    """What room each user would have; of a dry run."""
    _seen: set[Any] = field(default_factory=set)
    """Keys of rows that would be there; of a dry run."""
    _over: set[str] = field(default_factory=set)

    @property
    def _memories(self) -> PostgresMemories:
        return cast("PostgresMemories", self.storage.memories)

    async def run(self, source: Source, *, resume: bool = False) -> Report:
        """Import what `source` yields; with `resume` what comes after the rows that another run has settled.

        Raises:
            ImportSourceError: The source, or a file of this import, can't be read or written. What was stored stays.
            ProviderError: The embedding model failed. What was stored stays.
            StorageError: The database failed. What was stored stays.
        """
        found = self.progress.read() if resume else None
        at = found or Progress(report=Report(source=source.name, dry_run=self.dry_run))
        at.report.users = at.report.over_limit = 0
        writer = Writer(self.storage, redactor=self.checker.redactor)
        if not self.dry_run:
            self.bad_rows.begin(at.bad_size, began=at.bad_file)
            at.bad_file = self.bad_rows.name
        async with aclosing(_chunks(source.rows(after=at.mark))) as chunks:
            async for chunk in chunks:
                if not self.dry_run and at.mark is None:
                    self.progress.write(at)  # when it was begun, should this chunk not be settled
                await self._settle(chunk, writer, at, resumed=found is not None)
                at.mark, at.bad_size = chunk[-1].mark, self.bad_rows.size
                if not self.dry_run:
                    self.progress.write(at)
                self.told(at.report)
        if not self.dry_run:
            self.progress.remove()
        return at.report

    async def _settle(self, chunk: Sequence[AnyRow], writer: Writer, at: Progress, *, resumed: bool) -> None:
        """Store what can be of some rows, and count all of them."""
        report = at.report
        bad = [row for row in chunk if isinstance(row, BadRow)]
        for row in chunk:
            if isinstance(row, LeftOutRow):
                report.leave_out(row.kind, row.reason)
        rows = [row for row in chunk if isinstance(row, SourceRow)]
        by_user = await asyncio.to_thread(self._checked, rows, bad)
        report.users += sum(user_id not in self._began for user_id in by_user)
        for user_id in by_user:
            await self._begin(user_id, at, resumed=resumed)
        users = [_User(user_id, given) for user_id, given in by_user.items()]
        for user in users:
            if user.user_id in self._erased:
                report.erased += len(user.given)
        going_on = [user for user in users if user.user_id not in self._erased]
        await self._each(going_on, lambda user: self._look(writer, user, report))
        await self._embed(writer, going_on)

        async def write(user: _User) -> None:
            try:
                with begun(self._began[user.user_id]):
                    bad.extend(await self._write(writer, user, report))
            except UserErasedError:
                self._erased.add(user.user_id)
                report.erased += len(user.records) + len(user.items) + len(user.threads)

        await self._each(going_on, write)
        report.bad.update(row.reason for row in bad)
        report.over_limit = len(self._over)
        if not self.dry_run:
            self.bad_rows.add(sorted(bad, key=lambda row: row.mark))

    def _checked(self, rows: Sequence[SourceRow], bad: list[BadRow]) -> dict[str, list[tuple[SourceRow, Any]]]:
        """Return what is to be stored of each user, with its row; add what can't be to `bad`."""
        by_user: defaultdict[str, list[tuple[SourceRow, Any]]] = defaultdict(list)
        for row in rows:
            try:
                by_user[self.checker.owner(row)].append((row, self.checker.checked(row.record)))
            except MemoryRefusedError as error:
                bad.append(_bad(row, str(error)))
        return by_user

    async def _begin(self, user_id: str, at: Progress, *, resumed: bool) -> None:
        """Note under what the work for a user begins: whoever is erased from now on gets nothing more."""
        if user_id in self._began:
            return
        self._began[user_id] = await self._memories.begin(user_id)
        if resumed:
            try:
                await self._memories.check_run(user_id, "", at.begun_at)
            except UserErasedError:
                self._erased.add(user_id)

    async def _each(self, users: Sequence[_User], work: Callable[[_User], Awaitable[None]]) -> None:
        """Do the work of several users side by side: most of it is waiting for the disk."""
        turns = asyncio.Semaphore(AT_ONCE)

        async def one(user: _User) -> None:
            async with turns:
                await work(user)

        ended = await asyncio.gather(*map(one, users), return_exceptions=True)
        for error in ended:  # one by itself, and not a group of them: callers know its type
            if error is not None:
                raise error

    async def _look(self, writer: Writer, user: _User, report: Report) -> None:
        """Leave out of a user's records what is there."""
        user_key = self.storage.background.key_of(user.user_id)
        there = await writer.there(user_key, user.records)
        if self.dry_run:
            there = [
                is_known or self._was_seen(user.user_id, record)
                for record, is_known in zip(user.records, there, strict=True)
            ]
            if user.user_id not in self._rooms:
                self._rooms[user.user_id] = await writer.room(user_key)
        known = [record for record, is_known in zip(user.records, there, strict=True) if is_known]
        report.there.update(map(kind_of, known))
        user.records = [record for record, is_known in zip(user.records, there, strict=True) if not is_known]

    def _was_seen(self, user_id: str, record: Any) -> bool:
        """Return whether an earlier row is the same, of which a dry run stores nothing."""
        keys = _keys_of(user_id, record)
        seen = not keys.isdisjoint(self._seen)
        self._seen.update(keys)
        return seen

    async def _embed(self, writer: Writer, users: Sequence[_User]) -> None:
        """Embed the memories of all users together."""
        wanted = [(user, record) for user in users for record in user.records if isinstance(record, MemoryRecord)]
        if not wanted or self.dry_run:
            return
        prepared = await writer.embedded([record for _, record in wanted])
        for user in users:
            user.memories = prepared.only([n for n, (whose, _) in enumerate(wanted) if whose is user])

    async def _write(self, writer: Writer, user: _User, report: Report) -> list[BadRow]:
        """Write what is new of a user; return what can't be stored."""
        bad: list[BadRow] = []
        if user.records:
            written = await self._written(writer, user)
            self._count(user.user_id, written, report)
            bad += [_bad(user.row_of(record), _OVER) for record in written.over]
            user.records = []
        if user.threads:
            there = await writer.threads.put(user.user_id, user.threads, dry_run=self.dry_run)
            of_threads = list(zip(user.threads, there, strict=True))
            new, known = ([state for state, is_there in of_threads if is_there is told] for told in (False, True))
            self._count(user.user_id, Written(new, known), report)
        if not user.items:
            return bad
        written, refused = await writer.put([item for _, item in user.items], dry_run=self.dry_run)
        if self.dry_run:
            seen = [item for item in written.new if self._was_seen(user.user_id, item)]
            written = Written([item for item in written.new if item not in seen], [*written.there, *seen])
        self._count(user.user_id, written, report)
        return bad + [_bad(user.items[n][0], reason) for n, reason in refused.items()]

    async def _written(self, writer: Writer, user: _User) -> Written:
        """Return what becomes of a user's records, or would."""
        if not self.dry_run:
            return await writer.write(self.storage.background.key_of(user.user_id), user.records, user.memories)
        written = Written()
        for record in user.records:
            if self._rooms[user.user_id].takes(record):
                written.new.append(record)
            else:
                written.over.append(record)
                self._seen.difference_update(_keys_of(user.user_id, record))
        return written

    def _count(self, user_id: str, written: Written, report: Report) -> None:
        report.new.update(map(kind_of, written.new))
        report.there.update(map(kind_of, written.there))
        if written.over:
            self._over.add(user_id)
        if not self.dry_run:
            return
        if self.sample is not None:
            for record in written.new:
                self.sample(record)


class _User:
    """What of some rows is a user's."""

    def __init__(self, user_id: str, given: Sequence[tuple[SourceRow, Any]]) -> None:
        self.user_id = user_id
        self.given = given
        self.records = [record for _, record in given if not isinstance(record, (StoreItem, ThreadState))]
        self.threads = [record for _, record in given if isinstance(record, ThreadState)]
        self.items = [(row, record) for row, record in given if isinstance(record, StoreItem)]
        self.memories: Prepared | None = None
        """The memories of `records`, embedded."""

    def row_of(self, record: Any) -> SourceRow:
        """Return the row that a record was made of."""
        return next(row for row, made in self.given if made is record)


def _keys_of(user_id: str, record: Any) -> set[Any]:
    return {(user_id, *key) for key in keys_of(record)}


def _bad(row: SourceRow, reason: str) -> BadRow:
    """Return a row that could be read and can't be stored, with all that it says."""
    record = row.record
    said = asdict(record) if isinstance(record, (StoreItem, ThreadState)) else record.model_dump(exclude_defaults=True)
    raw = json.dumps({"user_id": row.user_id, **said}, ensure_ascii=False, default=str)
    return BadRow(mark=row.mark, reason=reason, raw=raw.encode("utf-8", "backslashreplace"))


async def _chunks(rows: AsyncIterator[AnyRow]) -> AsyncGenerator[list[AnyRow]]:
    """Yield some rows at a time, and then fail as the source does."""
    chunk: list[AnyRow] = []
    failed: ImportSourceError | None = None
    async with AsyncExitStack() as opened:
        if isinstance(rows, AsyncGenerator):
            await opened.enter_async_context(aclosing(rows))
        try:
            async for row in rows:
                chunk.append(row)
                if len(chunk) == CHUNK:
                    yield chunk
                    chunk = []
        except ImportSourceError as error:
            failed = error
        if chunk:
            yield chunk
    if failed is not None:
        raise failed
