"""Count what the rows of a table hold, row by row and thread by thread, as its pages come."""

from __future__ import annotations

from typing import Any

from discreet.redaction.placeholder_key import keyed_digest
from discreet.scanning.databases import Column, Row, Table
from discreet.scanning.inspecting import Seen
from discreet.scanning.report import MAX_ERRORS, MAX_PLACES, OTHER_PLACES, ErrorLine, TableReport, TypeCount

DIGEST_CHARS = 12


def digest_of(purpose: str, *parts: str) -> str:
    """Return what stands for an id or a key of a row in reports and logs: under the placeholder key, so that nobody can guess it."""
    return keyed_digest(purpose, {"key": parts}).hex()[:DIGEST_CHARS]


def count_places(places: dict[str, dict[str, int]], column: Column, seen: Seen) -> None:
    """Add where in a column values stand. Of very many places the rest is one."""
    for (path, name), count in seen.places.items():
        place = column.name + path
        if place not in places and len(places) >= MAX_PLACES:
            place = OTHER_PLACES
        of_place = places.setdefault(place, {})
        of_place[name] = of_place.get(name, 0) + count


class TableCounts:
    """Counts for one table."""

    def __init__(
        self, table: Table, report: TableReport, errors: list[ErrorLine], *, last: dict[str, Any] | None = None
    ) -> None:
        """Add to `report`, and to `errors` as long as there are few. `last` is what `last_seen` said of the row before."""
        self._table = table
        self._report = report
        self._errors = errors
        self._names = [column.name for column in table.key]
        last = last or {"thread": None, "in_thread": [], "ids": {}}
        self._thread: str | None = last["thread"]
        self._in_thread: set[str] = set(last["in_thread"])
        self._in_row: set[str] = set()
        self._ids: dict[str, str | bytes] = dict(last["ids"])

    def last_seen(self) -> dict[str, Any]:
        """Return what has to be known of the rows so far to count those that follow: plain JSON."""
        ids = {name: value for name, value in self._ids.items() if isinstance(value, str)}
        return {"thread": self._thread, "in_thread": sorted(self._in_thread), "ids": ids}

    def begin(self, row: Row) -> None:
        """Begin with a row."""
        self._report.rows += 1
        self._in_row.clear()
        thread = self._table.profile.thread
        if thread is not None and thread in self._names:
            told = row.key[self._names.index(thread)]
            if told != self._thread:
                self._thread = told
                self._in_thread.clear()

    def is_new_id(self, column: Column, value: str | bytes) -> bool:
        """Return whether a key's part is another than that of the row before: all rows of a thread have its id."""
        return self._ids.get(column.name) != value and not self._ids.update({column.name: value})

    def is_key(self, column: Column) -> bool:
        """Return whether a column is one that rows are found by."""
        return column.name in self._names or column.name == self._table.profile.thread

    def add(self, seen: Seen, row: Row, column: Column, size: int) -> None:
        """Count what was in a value."""
        report = self._report
        report.read_bytes += size
        for kind, count in seen.kinds.items():
            report.kinds[kind] = report.kinds.get(kind, 0) + count
        for name, count in seen.types.items():
            if self.is_key(column):
                report.in_ids[name] = report.in_ids.get(name, 0) + count
                continue
            counted = report.types.setdefault(name, TypeCount())
            counted.values += count
            counted.rows += name not in self._in_row
            counted.threads += self._thread is not None and name not in self._in_thread
            self._in_row.add(name)
            self._in_thread.add(name)
        if not self.is_key(column):
            count_places(report.places, column, seen)
        for reason in seen.errors:
            report.unreadable += 1
            if len(self._errors) < MAX_ERRORS:
                at = digest_of("row", self._table.schema, self._table.name, *row.key)
                self._errors.append(ErrorLine(table=self._table.label, column=column.name, row=at, reason=reason))
