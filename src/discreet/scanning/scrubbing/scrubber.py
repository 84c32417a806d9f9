"""Scrub a database: thread by thread, then what belongs to none, in short transactions beside a running application."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from discreet.checkpoint.policy import CheckpointPolicy
from discreet.errors import LockTimeoutError, ScanError
from discreet.redaction.engine import Redactor
from discreet.redaction.threads import ThreadRedactor
from discreet.scanning.databases import Column, Row, Table
from discreet.scanning.databases.base import PAGE_ROWS, Refused
from discreet.scanning.databases.postgres import PostgresDatabase
from discreet.scanning.databases.sqlite import SqliteDatabase
from discreet.scanning.profiles import BLOBS, CHECKPOINTS, OURS, WRITES
from discreet.scanning.progress import ProgressFile
from discreet.scanning.scanner import Told
from discreet.scanning.scrubbing.change_log import ChangeLog
from discreet.scanning.scrubbing.heads import Heads, find_heads
from discreet.scanning.scrubbing.pruning import prune_thread
from discreet.scanning.scrubbing.report import ScrubReport, TableChanges
from discreet.scanning.scrubbing.rewriting import Drop, Place, Rewriter
from discreet.scanning.texts import Texts
from discreet.scanning.values import decode_typed

R = TypeVar("R")

TRIES: Final = 6
"""Of a batch that waits for a lock: two seconds each, with pauses."""

Changes = dict[str, tuple[str | bytes | None, str | bytes | None]]
"""Of a row, by column: what its value is and what it becomes; None: no value."""

_EMPTY_TYPE: Final = "empty"
"""What LangGraph calls a channel without a value."""


@dataclass(frozen=True, kw_only=True)
class ScrubOptions:
    """What is scrubbed, and how."""

    every: bool = False
    """Whether tables are scrubbed that seem to have nothing to do with agents."""
    only: tuple[str, ...] = ()
    policy: CheckpointPolicy | None = None
    """Which channels are stored. None: all, redacted."""
    prune: bool = False
    """Whether of each thread the newest state alone is kept."""


@dataclass
class _Family:
    """The tables of one LangGraph saver."""

    checkpoints: Table
    others: list[Table] = field(default_factory=list)
    """Of values and writes."""

    @property
    def blobs(self) -> Table | None:
        return next((table for table in self.others if table.profile.label == BLOBS), None)


class Scrubber:
    """Scrubs one database."""

    def __init__(
        self,
        database: PostgresDatabase | SqliteDatabase,
        redactor: Redactor,
        *,
        options: ScrubOptions = ScrubOptions(),
        dry_run: bool = False,
        log: ChangeLog | None = None,
        told: Told | None = None,
    ) -> None:
        """Scrub `database`, which was opened for writing and whose owner closes it; a `dry_run` reads only."""
        self._database = database
        self._redactor = redactor
        self._options = options
        self._dry_run = dry_run
        self._log = log
        self._told = told or (lambda *_: None)
        self._rewriter = Rewriter(Texts(redactor), options.policy, redactor.redact)
        self._counts: dict[str, TableChanges] = {}
        self._threads = self._open = self._total = self._pruned = self._unpruned = 0

    def scrub(self, *, folder: Path | None = None, resume: bool = False) -> ScrubReport:
        """Scrub it, or say what that would change. With a `folder` it is remembered there how far it is.

        Raises:
            ScanError: Something can't be read at all, or not be written.
            StorageError: The database failed. What was done is done; `resume` goes on.
        """
        started = datetime.now(UTC)
        progress = ProgressFile(folder, "scrub", self._database.name, self._options) if folder else None
        kept = (progress.load() if progress and resume else None) or {}
        catalog = self._database.catalog(every=self._options.every, only=self._options.only)
        tables = [table for table in catalog.tables if table.profile is not OURS]
        self._total = sum(table.rows for table in tables)
        families = _families(tables)
        done: dict[str, list[str]] = {name: list(after) for name, after in kept.get("done", {}).items()}
        finished: list[str] = list(kept.get("finished", []))
        save = partial(_save, progress, done, finished)
        of_families = set()
        for family in families:
            of_families |= {table.label for table in (family.checkpoints, *family.others)}
            self._family(family, done, save)
        for table in tables:
            if table.label not in of_families and table.label not in finished:
                self._table(table, done, save)
                finished.append(table.label)
        if progress:
            progress.done()
        return ScrubReport(
            database=self._database.name,
            dry_run=self._dry_run,
            started_at=started,
            finished_at=datetime.now(UTC),
            threads=self._threads,
            open_threads=self._open,
            tables=list(self._counts.values()),
            pruned=self._pruned,
            unpruned_threads=self._unpruned,
        )

    def _family(self, family: _Family, done: dict[str, list[str]], save: Callable[[], None]) -> None:
        """Scrub the threads of a saver, one after the other."""
        name = family.checkpoints.label
        for thread_id in _threads(self._database, family, done[name][0] if name in done else None):
            self._thread(family, thread_id)
            done[name] = [thread_id]
            save()

    def _thread(self, family: _Family, thread_id: str) -> None:
        names = [column.name for column in family.checkpoints.key]
        redactor = self._redactor.for_thread(thread_id)
        try:
            heads = find_heads(
                self._rows(family.checkpoints, thread_id), names, partial(self._read_blob, family, thread_id)
            )
        except ScanError:  # a damaged checkpoint: as if something went on from all there is
            heads = Heads(is_open=True, is_delta=True)
        self._threads += 1
        self._open += heads.is_open
        if self._options.prune:
            self._prune(family, thread_id)
        for table in (*family.others, family.checkpoints):
            self._pages(table, heads, redactor, thread_id)

    def _prune(self, family: _Family, thread_id: str) -> None:
        if not isinstance(self._database, PostgresDatabase):
            raise ScanError("--prune is for PostgreSQL. Nothing was changed.")
        pruned = self._again(prune_thread, self._database, family.checkpoints, thread_id, dry_run=self._dry_run)
        self._unpruned += pruned is None
        self._pruned += pruned or 0

    def _pages(self, table: Table, heads: Heads, redactor: ThreadRedactor, thread_id: str) -> None:
        names = [column.name for column in table.key]
        after = None
        while True:
            rows, after = self._database.page(table, after, thread=thread_id)
            self._batch(table, [self._full(table, row) for row in rows], partial(_place, table, names, heads, redactor))
            if after is None:
                return

    def _table(self, table: Table, done: dict[str, list[str]], save: Callable[[], None]) -> None:
        """Scrub a table that belongs to no saver."""
        after = tuple(done[table.label]) if table.label in done else None
        while True:
            rows, after = self._database.page(table, after)
            self._batch(table, [self._full(table, row) for row in rows], lambda row: self._place_of_row(table, row))
            if after is None:
                return
            done[table.label] = list(after)
            save()

    def _place_of_row(self, table: Table, row: Row) -> Place:
        names = [column.name for column in table.key]
        thread = table.profile.thread
        told = row.key[names.index(thread)] if thread in names else row.values.get(thread or "")
        return Place(thread=self._redactor.for_thread(told) if isinstance(told, str) else None)

    def _batch(self, table: Table, rows: list[Row], place: Callable[[Row], Place | None]) -> None:
        """Change what is to be changed of some rows, in one transaction."""
        counts = self._counts.setdefault(table.label, TableChanges(table=table.label))
        counts.rows += len(rows)
        changes: list[tuple[Row, Changes]] = []
        gone: list[Row] = []
        for row in rows:
            at = place(row)
            if at is None:
                gone.append(row)
            elif changed := self._changes(table, row, at, counts):
                changes.append((row, changed))
        self._told(table.label, sum(each.rows for each in self._counts.values()), self._total)
        for _, changed in changes:
            counts.bytes_before += sum(_size(before) for before, _ in changed.values())
            counts.bytes_after += sum(_size(made) for _, made in changed.values())
        counts.bytes_before += sum(_size(value) for row in gone for value in row.values.values())
        if self._dry_run:
            counts.changed += len(changes)
            counts.deleted += len(gone)
        elif changes or gone:
            self._write_all(table, changes, gone, counts)

    def _write_all(
        self, table: Table, changes: list[tuple[Row, Changes]], gone: list[Row], counts: TableChanges
    ) -> None:
        """Write some rows, one by one if the database refuses one of them, which stays."""
        try:
            self._again(self._write, table, changes, gone, counts)
        except Refused:
            if len(changes) == 1 and not gone:
                counts.refused += 1
                return
            for change in changes:
                self._write_all(table, [change], [], counts)
            self._again(self._write, table, [], gone, counts)

    @staticmethod
    def _again(work: Callable[..., R], *args: Any, **options: Any) -> R:
        """Do `work`, and again if a lock was not to be had in time."""
        again = Retrying(
            retry=retry_if_exception_type(LockTimeoutError),
            stop=stop_after_attempt(TRIES),
            wait=wait_random_exponential(max=5),
            reraise=True,
        )
        return again(work, *args, **options)

    def _write(self, table: Table, changes: list[tuple[Row, Changes]], gone: list[Row], counts: TableChanges) -> None:
        with self._database.batch():
            done = [change for change in changes if self._database.replace(table, change[0].key, change[1])]
            deleted = self._database.delete(table, [row.key for row in gone])
            if self._log:  # when nothing of it can be refused any more
                for row, of_row in done:
                    for column, (before, after) in of_row.items():
                        self._log.changed(table, row.key, column, before, after)
                for row in gone:
                    self._log.deleted(table, row.key)
                self._log.flush()
        counts.changed += len(done)
        counts.changed_meanwhile += len(changes) - len(done)
        counts.deleted += deleted

    def _changes(self, table: Table, row: Row, place: Place, counts: TableChanges) -> Changes:
        """Return what changes of a row."""
        changes: Changes = {}
        keys = {column.name for column in table.key}
        for column in table.columns:
            value = row.values.get(column.name)
            if (
                value is None
                or column.name in keys
                or column.name in table.profile.engine
                or column.name == table.profile.thread
            ):
                continue
            kind = row.values.get("type") if column.name in table.profile.typed else None
            try:
                made = self._made(table, column, value, kind if isinstance(kind, str) else None, place)
            except ScanError:
                counts.unreadable += 1
                continue
            except Drop:
                changes |= {"type": (row.values["type"], _EMPTY_TYPE), column.name: (value, None)}
                continue
            if made != value:
                changes[column.name] = (value, made)
        return changes

    def _made(self, table: Table, column: Column, value: str | bytes, kind: str | None, place: Place) -> str | bytes:
        if table.profile.label == CHECKPOINTS:
            if column.name == "checkpoint":
                return self._rewriter.checkpoint(kind, value, place)
            return self._rewriter.metadata(value, place)
        name = place.channel if column.name in table.profile.typed else None
        if column.form not in ("json", "bytes"):
            name = name or column.name
        return self._rewriter.rewrite(kind, value, place_named(place, name))

    def _full(self, table: Table, row: Row) -> Row:
        """Return a row with its large values."""
        for column in table.columns:
            if column.name in row.large:
                row.values[column.name] = self._database.value(table, row.key, column)
        return row

    def _rows(self, table: Table, thread_id: str) -> Iterator[Row]:
        after = None
        while True:
            rows, after = self._database.page(table, after, thread=thread_id)
            yield from (self._full(table, row) for row in rows)
            if after is None:
                return

    def _read_blob(self, family: _Family, thread_id: str, ns: str, channel: str, version: str) -> Any:
        table = family.blobs
        if table is None:
            return None
        parts = {"thread_id": thread_id, "checkpoint_ns": ns, "channel": channel, "version": version}
        key = tuple(parts.get(column.name, "") for column in table.key)
        kind = self._database.value(table, key, Column("type", "text"))
        if kind in (None, _EMPTY_TYPE):
            return None
        data = self._database.value(table, key, Column("blob", "bytes"))
        return decode_typed(str(kind), data).value if isinstance(data, bytes) else None


def place_named(place: Place, name: str | None) -> Place:
    """Return `place` with another channel."""
    return Place(channel=name, is_open=place.is_open, is_over=place.is_over, thread=place.thread)


def _families(tables: list[Table]) -> list[_Family]:
    """Return the savers whose tables are there: of each schema one."""
    families = {table.schema: _Family(table) for table in tables if table.profile.label == CHECKPOINTS}
    for table in tables:
        if table.profile.label in (BLOBS, WRITES) and table.schema in families:
            families[table.schema].others.append(table)
    return list(families.values())


def _threads(database: PostgresDatabase | SqliteDatabase, family: _Family, after: str | None) -> Iterator[str]:
    """Yield the thread ids that any of a saver's tables has, in their order: a crash may have left writes alone."""
    while True:
        found = [database.threads(table, after) for table in (family.checkpoints, *family.others)]
        known = sorted({thread_id for of_table in found for thread_id in of_table})
        ends = [of_table[-1] for of_table in found if of_table]
        if not ends:
            return
        # What lies beyond the end of one table's page may have others before it there.
        full = [of_table[-1] for of_table in found if len(of_table) >= PAGE_ROWS]
        until = min(full) if full else None
        yield from (thread_id for thread_id in known if until is None or thread_id <= until)
        if until is None:
            return
        after = until


def _place(table: Table, names: list[str], heads: Heads, redactor: ThreadRedactor, row: Row) -> Place | None:
    """Return where a row of a thread stands; None if nothing needs it."""
    of_key = dict(zip(names, row.key, strict=True))
    ns = of_key.get("checkpoint_ns", "")
    channel = of_key.get("channel") or row.values.get("channel")
    channel = channel if isinstance(channel, str) else None
    label = table.profile.label
    if label == BLOBS:
        version = of_key.get("version")  # a shallow saver has one of each channel
        is_head = heads.is_delta or version is None or (ns, channel or "", version) in heads.versions
    else:
        checkpoint_id = of_key.get("checkpoint_id", "")
        if label == WRITES and not heads.needs_writes(ns, checkpoint_id):
            return None
        is_head = label == WRITES or heads.has_checkpoint(ns, checkpoint_id)
    return Place(channel=channel, is_open=heads.is_open and is_head, is_over=is_head, thread=redactor)


def _save(progress: ProgressFile | None, done: dict[str, list[str]], finished: list[str]) -> None:
    if progress:
        progress.save({"done": done, "finished": finished})


def _size(value: str | bytes | None) -> int:
    return len(value or "")
