"""Scrub a database: thread by thread, then what belongs to none, in short transactions beside a running application."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from discreet.checkpoint.policy import CheckpointPolicy
from discreet.errors import ScanError
from discreet.redaction.engine import Redactor
from discreet.redaction.threads import ThreadRedactor
from discreet.scanning.databases import Column, Row, Table
from discreet.scanning.databases.postgres import PostgresDatabase
from discreet.scanning.databases.sqlite import SqliteDatabase
from discreet.scanning.inspecting import Inspector
from discreet.scanning.profiles import BLOBS, CHECKPOINTS, OURS, WRITES
from discreet.scanning.progress import ProgressFile
from discreet.scanning.scanner import Told
from discreet.scanning.scrubbing.batches import BatchWriter, again
from discreet.scanning.scrubbing.change_log import ChangeLog
from discreet.scanning.scrubbing.heads import Heads, find_heads
from discreet.scanning.scrubbing.pruning import prune_thread
from discreet.scanning.scrubbing.report import ScrubReport, TableChanges
from discreet.scanning.scrubbing.rewriting import Place, Rewriter
from discreet.scanning.scrubbing.row_changes import EMPTY_TYPE, Changes, changes_of, count_changed
from discreet.scanning.scrubbing.saver_tables import OF_SAVERS, SaverTables, place_of_thread, savers_of, threads_of
from discreet.scanning.texts import Texts
from discreet.scanning.values import decode_typed

_NO_THREAD: Final = "discreet scrub"
"""Stands for the thread where there is none: who is who stays so within a database."""


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
        self._writer = BatchWriter(database, log)
        self._told = told or (lambda *_: None)
        texts = Texts(redactor)
        self._rewriter = Rewriter(texts, options.policy, redactor.redact)
        self._inspector = Inspector(texts)
        self._counts: dict[str, TableChanges] = {}
        self._chosen: list[Table] = []
        self._threads = self._open = self._total = self._pruned = self._unpruned = 0

    def scrub(self, *, folder: Path | None = None, resume: bool = False) -> ScrubReport:
        """Scrub it, or say what that would change. With a `folder` it is remembered there how far it is.

        Raises:
            ScanError: Something can't be read at all, or not be written.
            StorageError: The database failed. What was done is done; `resume` goes on.
        """
        started = datetime.now(UTC)
        named = (self._options.every, sorted(self._options.only), self._options.prune)
        progress = ProgressFile(folder, "scrub", self._database.name, *named) if folder else None
        kept = (progress.load() if progress and resume else None) or {}
        only = self._options.only
        catalog = self._database.catalog(every=self._options.every, only={*only, *OF_SAVERS} if only else ())
        tables = [table for table in catalog.tables if table.profile is not OURS and not table.is_view]
        self._chosen = [table for table in tables if not self._options.only or table.is_called(self._options.only)]
        self._total = sum(table.rows for table in self._chosen)
        families = savers_of(tables)
        done: dict[str, list[str]] = {name: list(after) for name, after in kept.get("done", {}).items()}
        finished: list[str] = list(kept.get("finished", []))
        save = partial(_save, progress, done, finished)
        of_families = set()
        for family in families:
            of_families |= {table.label for table in (family.checkpoints, *family.others)}
            if any(table in self._chosen for table in (family.checkpoints, *family.others)):
                self._family(family, done, save)
        for table in self._chosen:
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

    def _family(self, family: SaverTables, done: dict[str, list[str]], save: Callable[[], None]) -> None:
        """Scrub the threads of a saver, one after the other."""
        name = family.checkpoints.label
        for thread_id in threads_of(self._database, family, done[name][0] if name in done else None):
            self._thread(family, thread_id)
            done[name] = [thread_id]
            save()

    def _thread(self, family: SaverTables, thread_id: str) -> None:
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
            if table in self._chosen:
                self._pages(table, heads, redactor, thread_id)

    def _prune(self, family: SaverTables, thread_id: str) -> None:
        if not isinstance(self._database, PostgresDatabase):
            raise ScanError("--prune is for PostgreSQL. Nothing was changed.")
        pruned = again(
            family.checkpoints, prune_thread, self._database, family.checkpoints, thread_id, dry_run=self._dry_run
        )
        self._unpruned += pruned is None
        self._pruned += pruned or 0

    def _pages(self, table: Table, heads: Heads, redactor: ThreadRedactor, thread_id: str) -> None:
        names = [column.name for column in table.key]
        after = None
        while True:
            rows, after = self._database.page(table, after, thread=thread_id)
            self._batch(
                table, [self._full(table, row) for row in rows], partial(place_of_thread, table, names, heads, redactor)
            )
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
        thread = told if isinstance(told, str) else _NO_THREAD
        return Place(
            of_server=table.profile.is_server,
            is_open=table.profile.label in (CHECKPOINTS, BLOBS, WRITES),  # a copy: nobody knows what goes on from it
            thread=self._redactor.for_thread(thread),
        )

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
            elif changed := changes_of(self._rewriter, table, row, at, counts):
                changes.append((row, changed))
        self._told(table.label, sum(each.rows for each in self._counts.values()), self._total)
        for row, changed in changes:
            count_changed(self._inspector, table, row, changed, counts)
            counts.bytes_before += sum(_size(before) for before, _ in changed.values())
            counts.bytes_after += sum(_size(made) for _, made in changed.values())
        counts.bytes_before += sum(_size(value) for row in gone for value in row.values.values())
        if self._dry_run:
            counts.changed += len(changes)
            counts.deleted += len(gone)
        elif changes or gone:
            self._writer.write(table, changes, gone, counts)

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

    def _read_blob(self, family: SaverTables, thread_id: str, ns: str, channel: str, version: str) -> Any:
        table = family.blobs
        if table is None:
            return None
        parts = {"thread_id": thread_id, "checkpoint_ns": ns, "channel": channel, "version": version}
        key = tuple(parts.get(column.name, "") for column in table.key)
        kind = self._database.value(table, key, Column("type", "text"))
        if kind in (None, EMPTY_TYPE):
            return None
        data = self._database.value(table, key, Column("blob", "bytes"))
        return decode_typed(str(kind), data).value if isinstance(data, bytes) else None


def _save(progress: ProgressFile | None, done: dict[str, list[str]], finished: list[str]) -> None:
    if progress:
        progress.save({"done": done, "finished": finished})


def _size(value: str | bytes | None) -> int:
    return len(value or "")
