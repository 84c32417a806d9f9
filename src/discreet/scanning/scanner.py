"""Scan a database: read all rows of its tables a page at a time, and count what is in them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any, Final

from discreet.errors import ScanError
from discreet.redaction.engine import Redactor
from discreet.scanning.counting import TableCounts, digest_of
from discreet.scanning.databases import Column, Opened, Row, Table
from discreet.scanning.inspecting import ENGINE_FIELDS, Inspector, Seen, shown_name
from discreet.scanning.messages import CHANNELS
from discreet.scanning.profiles import CHECKPOINTS, OTHER
from discreet.scanning.progress import ProgressFile
from discreet.scanning.report import ErrorLine, ScanReport, TableReport
from discreet.scanning.texts import Texts
from discreet.scanning.unkept import unkept_of
from discreet.scanning.usage import usage_of

SAVE_SECONDS: Final = 2.0
"""Of a scan that is broken off, what is read again."""

Told = Callable[[str, int, int], None]
"""Hears how far it is: the table, rows read, and about how many there are in all."""


@dataclass(frozen=True, kw_only=True)
class ScanOptions:
    """What is scanned."""

    sample: float = 1.0
    """Which part of the threads: 0.01 is one in a hundred."""
    every: bool = False
    """Whether tables are scanned that seem to have nothing to do with agents."""
    only: Collection[str] = ()
    """Tables to scan, and no others."""


@dataclass
class _State:
    """How far a scan is."""

    tables: dict[str, TableReport] = field(default_factory=dict)
    after: tuple[str, ...] | None = None
    """In the table that is being read: the key of the last row."""
    last: dict[str, Any] | None = None
    """What `TableCounts` has to know of that row."""
    at: str | None = None
    finished: list[str] = field(default_factory=list)
    errors: list[ErrorLine] = field(default_factory=list)
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    seconds: float = 0.0

    def kept(self) -> dict[str, Any]:
        return {
            "tables": {name: table.model_dump() for name, table in self.tables.items()},
            "after": self.after,
            "last": self.last,
            "at": self.at,
            "finished": self.finished,
            "errors": [error.model_dump() for error in self.errors],
            "started_at": self.started_at.isoformat(),
            "seconds": self.seconds,
        }

    @classmethod
    def of(cls, kept: dict[str, Any]) -> _State:
        return cls(
            tables={name: TableReport.model_validate(table) for name, table in kept["tables"].items()},
            after=None if kept["after"] is None else tuple(kept["after"]),
            last=kept["last"],
            at=kept["at"],
            finished=list(kept["finished"]),
            errors=[ErrorLine.model_validate(error) for error in kept["errors"]],
            started_at=datetime.fromisoformat(kept["started_at"]),
            seconds=kept["seconds"],
        )


class Scanner:
    """Scans one database."""

    def __init__(
        self, database: Opened, redactor: Redactor, *, options: ScanOptions = ScanOptions(), told: Told | None = None
    ) -> None:
        """Scan `database`, whose owner closes it, for what `redactor` finds."""
        self._database = database
        self._options = options
        self._told = told or (lambda *_: None)
        self._texts = Texts(redactor)
        self._inspector = Inspector(self._texts)

    def scan(self, *, folder: Path | None = None, resume: bool = False) -> ScanReport:
        """Return what is in it. With a `folder` it is remembered there how far it is, for another scan to `resume`.

        Raises:
            ScanError: Something can't be read at all.
            StorageError: The database failed.
        """
        progress = ProgressFile(folder, "scan", self._database.name, self._options) if folder else None
        state = (_State.of(kept) if progress and resume and (kept := progress.load()) else None) or _State()
        catalog = self._database.catalog(every=self._options.every, only=self._options.only)
        if not catalog.tables:
            raise ScanError(
                "Here is no table of LangGraph's, and none that looks like memory of an agent. --all-tables scans all there are."
            )
        total = sum(table.rows for table in catalog.tables)
        clock = _Clock(state)
        for table in catalog.tables:
            name = f"{table.schema}.{table.name}"
            if name in state.finished:
                continue
            if state.at != name:
                state.at, state.after, state.last = name, None, None
                state.tables[name] = TableReport(
                    schema_name=table.schema, table=table.name, label=table.profile.label, bytes=table.bytes
                )
            self._table(table, state, clock, progress, total)
            state.finished.append(name)
        usage = usage_of(self._database, catalog.tables, lambda text: digest_of("thread", text))
        unkept = unkept_of(
            self._database, catalog.tables, lambda name: shown_name(name, self._texts), sample=self._options.sample
        )
        clock.stop()
        if progress:
            progress.done()
        return ScanReport(
            database=self._database.name,
            started_at=state.started_at,
            finished_at=datetime.now(UTC),
            seconds=state.seconds,
            sample=self._options.sample,
            tables=list(state.tables.values()),
            not_scanned=dict(catalog.others),
            usage=usage,
            unkept=unkept,
            errors=state.errors,
        )

    def _table(self, table: Table, state: _State, clock: _Clock, progress: ProgressFile | None, total: int) -> None:
        """Go through the rest of a table."""
        report = state.tables[state.at or ""]
        counts = TableCounts(table, report, state.errors, last=state.last)
        while True:
            rows, following = self._database.page(table, state.after, sample=self._options.sample)
            for row in rows:
                self._row(table, row, counts)
            read = sum(each.rows for each in state.tables.values())
            self._told(table.label, read, max(total, read))
            if following is None:
                return
            state.after, state.last = following, counts.last_seen()
            if progress and clock.is_due():
                progress.save(state.kept())

    def _row(self, table: Table, row: Row, counts: TableCounts) -> None:
        counts.begin(row)
        for column in table.columns:
            if column.name in table.profile.engine:
                continue
            value = row.values.get(column.name)
            if column.name in row.large:
                value = self._database.value(table, row.key, column)
            if value is None or (counts.is_key(column) and not counts.is_new_id(column, value)):
                continue
            counts.add(look_at(self._inspector, table, row, column, value), row, column, len(value))


def look_at(inspector: Inspector, table: Table, row: Row, column: Column, value: str | bytes) -> Seen:
    """Return what is in a value of a row, which its table tells more of: its serializer, its channel, its name."""
    profile = table.profile
    if column.form == "number":
        return inspector.look_number(str(value), column.name)
    channel = row.values.get(profile.channel) if profile.channel else None
    kind = row.values.get("type") if column.name in profile.typed else None
    kind = kind if isinstance(kind, str) else None
    if column.name == "content" and kind is None and profile.typed:  # a file of pickles
        kind = "pickle"
    channel = name = str(channel) if channel and column.name in profile.typed else None
    if profile is OTHER and column.form != "json":
        name = column.name
    is_checkpoint = profile.label == CHECKPOINTS and column.name == "checkpoint"
    without = ENGINE_FIELDS if is_checkpoint else frozenset()
    seen = inspector.look(value, name=name, kind=kind, channel=channel, without=without)
    if name in CHANNELS:
        seen.kinds[CHANNELS[name]] += 1
    return seen


class _Clock:
    """Measures what a scan takes, over all its runs."""

    def __init__(self, state: _State) -> None:
        self._state = state
        self._last = self._saved = monotonic()

    def is_due(self) -> bool:
        """Return whether it is time to remember how far the scan is."""
        self.stop()
        if self._last - self._saved < SAVE_SECONDS:
            return False
        self._saved = self._last
        return True

    def stop(self) -> None:
        """Add what has passed."""
        now = monotonic()
        self._state.seconds += now - self._last
        self._last = now
