"""Scrub a database: thread by thread, then what belongs to none, in short transactions beside a running application."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from discreet.checkpoint.channels import NO_WRITES
from discreet.checkpoint.policy import CheckpointPolicy
from discreet.errors import LockTimeoutError, ScanError
from discreet.redaction.engine import Redactor
from discreet.redaction.placeholders import untagged
from discreet.redaction.threads import ThreadRedactor
from discreet.scanning.databases import Column, Row, Table
from discreet.scanning.databases.base import Refused
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

_NO_THREAD: Final = "discreet scrub"
"""Stands for the thread where there is none: who is who stays so within a database."""

_OF_SAVERS: Final = ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "writes")
"""Tables of LangGraph's savers."""

_STATES_OF_SERVERS: Final = frozenset({"values", "kwargs", "input", "output", "result"})
"""Columns of a server's tables that have states of threads, or what becomes one."""

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
        catalog = self._database.catalog(every=self._options.every, only={*only, *_OF_SAVERS} if only else ())
        tables = [table for table in catalog.tables if table.profile is not OURS and not table.is_view]
        self._chosen = [table for table in tables if not self._options.only or table.is_called(self._options.only)]
        self._total = sum(table.rows for table in self._chosen)
        families = _families(tables)
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
            if table in self._chosen:
                self._pages(table, heads, redactor, thread_id)

    def _prune(self, family: _Family, thread_id: str) -> None:
        if not isinstance(self._database, PostgresDatabase):
            raise ScanError("--prune is for PostgreSQL. Nothing was changed.")
        pruned = self._again(
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
        """Write some rows; if the database refuses one of them, one by one, and of that one what it takes."""
        try:
            self._again(table, self._write, table, changes, gone, counts)
        except Refused:
            parts = changes if len(changes) > 1 or gone else _smaller(*changes[0])
            if not parts:
                counts.refused += 1
                return
            for part in parts:
                self._write_all(table, [part], [], counts)
            self._again(table, self._write, table, [], gone, counts)

    @staticmethod
    def _again(table: Table, work: Callable[..., R], *args: Any, **options: Any) -> R:
        """Do `work` on a table, and again if a lock was not to be had in time.

        Raises:
            ScanError: It was not to be had for a while.
        """
        again = Retrying(
            retry=retry_if_exception_type(LockTimeoutError),
            stop=stop_after_attempt(TRIES),
            wait=wait_random_exponential(max=5),
            reraise=True,
        )
        try:
            return again(work, *args, **options)
        except LockTimeoutError:
            raise ScanError(
                f"Another session holds a lock on {table.label}. What was done is done: go on with --resume once it is free."
            ) from None

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
                changes |= _dropped(table, row, column.name)
                continue
            if made != value:
                changes[column.name] = (value, made)
        return changes

    def _made(self, table: Table, column: Column, value: str | bytes, kind: str | None, place: Place) -> str | bytes:
        if table.profile.label == CHECKPOINTS:
            if column.name == "checkpoint":
                return self._rewriter.checkpoint(kind, value, place)
            if column.name == "metadata":
                return self._rewriter.metadata(value, place)
        if column.name not in table.profile.typed:
            channel = None if column.form in ("json", "bytes") else column.name
            of_server = place.of_server and column.name in _STATES_OF_SERVERS
            place = replace(place, channel=channel, of_saver=False, of_server=of_server)
        return self._rewriter.rewrite(kind, value, place)

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


def _smaller(row: Row, changes: Changes) -> list[tuple[Row, Changes]]:
    """Return what to try of a row that is refused: one column at a time, then with placeholders without tags, which are shorter."""
    if "type" in changes:  # it belongs to the bytes of the value
        return []
    if len(changes) > 1:
        return [(row, {column: change}) for column, change in changes.items()]
    ((column, (before, made)),) = changes.items()
    shorter = untagged(made) if isinstance(made, str) else made
    return [] if shorter == made else [(row, {column: (before, shorter)})]


def _dropped(table: Table, row: Row, column: str) -> Changes:
    """Return what makes a channel one without a value; of a write, what a task that is done without output has."""
    before = row.values[column]
    if table.profile.label != WRITES:
        return {"type": (row.values["type"], _EMPTY_TYPE), column: (before, None)}
    nothing: dict[str, str | bytes] = {"channel": NO_WRITES, "type": "null", column: b""}
    return {name: (row.values[name], value) for name, value in nothing.items()}


def _families(tables: list[Table]) -> list[_Family]:
    """Return the savers whose tables are there, of each schema one. Copies of these under other names are no saver's."""
    families = {
        table.schema: _Family(table)
        for table in tables
        if table.profile.label == CHECKPOINTS and table.name == "checkpoints" and table.key
    }
    for table in tables:
        if table.name in _OF_SAVERS[1:] and table.schema in families and table.key:
            families[table.schema].others.append(table)
    return list(families.values())


def _threads(database: PostgresDatabase | SqliteDatabase, family: _Family, after: str | None) -> Iterator[str]:
    """Yield the thread ids that any of a saver's tables has: a crash may have left writes alone."""
    tables = (family.checkpoints, *family.others)
    while found := database.threads(tables, after):
        yield from found
        after = found[-1]


def place_of_thread(table: Table, names: list[str], heads: Heads, redactor: ThreadRedactor, row: Row) -> Place | None:
    """Return where a row of a thread stands; None if nothing needs it.

    What came since the heads were read belongs to a turn that is running.
    """
    of_key = dict(zip(names, row.key, strict=True))
    ns = of_key.get("checkpoint_ns", "")
    channel = of_key.get("channel") or row.values.get("channel")
    channel = channel if isinstance(channel, str) else None
    label = table.profile.label
    if label == BLOBS:
        version = of_key.get("version")  # a shallow saver has one of each channel
        is_head = heads.is_delta or version is None or (ns, channel or "", version) in heads.versions
        is_newer = version is not None and heads.is_newer_version(ns, version)
    else:
        checkpoint_id = of_key.get("checkpoint_id", "")
        is_newer = checkpoint_id > heads.ids.get(ns, "")
        if label == WRITES and not is_newer and not heads.needs_writes(ns, checkpoint_id):
            return None
        is_head = label == WRITES or heads.has_checkpoint(ns, checkpoint_id)
    return Place(
        channel=channel,
        of_saver=True,
        is_open=(heads.is_open and is_head) or is_newer,
        is_over=is_head,
        thread=redactor,
    )


def _save(progress: ProgressFile | None, done: dict[str, list[str]], finished: list[str]) -> None:
    if progress:
        progress.save({"done": done, "finished": finished})


def _size(value: str | bytes | None) -> int:
    return len(value or "")
