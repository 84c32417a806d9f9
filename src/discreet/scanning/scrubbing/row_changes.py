"""Say what changes of one row: column by column, by where the row stands."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from discreet.checkpoint.channels import NO_WRITES
from discreet.errors import ScanError
from discreet.redaction.placeholders import BYTES, untagged
from discreet.scanning.counting import count_places
from discreet.scanning.databases import Column, Row, Table
from discreet.scanning.inspecting import Inspector
from discreet.scanning.messages import MEDIA
from discreet.scanning.profiles import CHECKPOINTS, WRITES
from discreet.scanning.scanner import look_at
from discreet.scanning.scrubbing.report import TableChanges
from discreet.scanning.scrubbing.rewriting import Drop, Place, Rewriter

Changes = dict[str, tuple[str | bytes | None, str | bytes | None]]
"""Of a row, by column: what its value is and what it becomes; None: no value."""

EMPTY_TYPE: Final = "empty"
"""What LangGraph calls a channel without a value."""

REMOVED: Final = "removed"
"""What is counted where no value stands in what goes."""

_STATES_OF_SERVERS: Final = frozenset({"values", "kwargs", "input", "output", "result"})
"""Columns of a server's tables that have states of threads, or what becomes one."""


def changes_of(rewriter: Rewriter, table: Table, row: Row, place: Place, counts: TableChanges) -> Changes:
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
        try:
            made = _made(rewriter, table, column, row, place)
        except ScanError:
            counts.unreadable += 1
            continue
        except Drop:
            changes |= _dropped(table, row, column.name)
            continue
        if made != value:
            changes[column.name] = (value, made)
    return changes


def count_changed(inspector: Inspector, table: Table, row: Row, changes: Changes, counts: TableChanges) -> None:
    """Count what is in the values of a row that change, by the names that they stand under."""
    for column in table.columns:
        before, _ = changes.get(column.name, (None, None))
        if before is None or column.name in table.profile.engine:
            continue
        seen = look_at(inspector, table, row, column, before)
        if not seen.places:
            what = BYTES if seen.kinds[MEDIA] else REMOVED
            seen.found([what], seen.root)
        count_places(counts.places, column, seen)


def smaller(row: Row, changes: Changes) -> list[tuple[Row, Changes]]:
    """Return what to try of a row that is refused: one column at a time, then with placeholders without tags, which are shorter."""
    if "type" in changes:  # it belongs to the bytes of the value
        return []
    if len(changes) > 1:
        return [(row, {column: change}) for column, change in changes.items()]
    ((column, (before, made)),) = changes.items()
    shorter = untagged(made) if isinstance(made, str) else made
    return [] if shorter == made else [(row, {column: (before, shorter)})]


def _made(rewriter: Rewriter, table: Table, column: Column, row: Row, place: Place) -> str | bytes:
    value, told = row.values[column.name], row.values.get("type")
    assert value is not None, "asked of values alone"
    kind = told if column.name in table.profile.typed and isinstance(told, str) else None
    if table.profile.label == CHECKPOINTS:
        if column.name == "checkpoint":
            return rewriter.checkpoint(kind, value, place)
        if column.name == "metadata":
            return rewriter.metadata(value, place)
    if column.form == "number":
        return rewriter.number(str(value), column.name)
    if column.name not in table.profile.typed:
        channel = None if column.form in ("json", "bytes") else column.name
        of_server = place.of_server and column.name in _STATES_OF_SERVERS
        place = replace(place, channel=channel, of_saver=False, of_server=of_server)
    return rewriter.rewrite(kind, value, place)


def _dropped(table: Table, row: Row, column: str) -> Changes:
    """Return what makes a channel one without a value; of a write, what a task that is done without output has."""
    before = row.values[column]
    if table.profile.label != WRITES:
        return {"type": (row.values["type"], EMPTY_TYPE), column: (before, None)}
    nothing: dict[str, str | bytes] = {"channel": NO_WRITES, "type": "null", column: b""}
    return {name: (row.values[name], value) for name, value in nothing.items()}
