"""Say what a scan found in words and figures, for the page and for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from rich.filesize import decimal

from discreet.scanning.report import ErrorLine, ScanReport, TableReport

MOST_ROWS: Final = 5
"""Digests that a line of unreadable values names."""


def printable(text: str) -> str:
    """Return `text` without what moves a terminal's cursor or turns the direction of a line: names are a foreign database's."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def counted(number: int, noun: str) -> str:
    """Return a number with what it counts.

    Example:
        >>> counted(1, "table"), counted(1200, "table")
        ('1 table', '1,200 tables')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def moment(when: datetime | None) -> str:
    """Return a time in UTC, to the minute."""
    return "not known" if when is None else f"{when.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def share(part: float, whole: float) -> str:
    """Return what part of a whole something is; what is not nothing is never said to be none of it, nor all."""
    percent = 100 * part / whole if whole else 0.0
    if 0 < percent < 1:
        return "< 1 %"
    return "> 99 %" if 99 < percent < 100 else f"{percent:.0f} %"  # noqa: PLR2004 - percent


def name_of(table: TableReport) -> str:
    """Return the name of a table with its schema."""
    return f"{table.schema_name}.{table.table}"


def found_in(table: TableReport) -> Counter[str]:
    """Return the values of a table by type, those in ids too."""
    return Counter({name: count.values for name, count in table.types.items()}) + Counter(table.in_ids)


def by_type(report: ScanReport, of: Callable[[TableReport], Mapping[str, int]] = found_in) -> dict[str, dict[str, int]]:
    """Return the values of each type by table, the most first."""
    sums: dict[str, Counter[str]] = {}
    for table in report.tables:
        for name, count in of(table).items():
            if count:
                sums.setdefault(name, Counter())[name_of(table)] += count
    ordered = sorted(sums.items(), key=lambda item: (-item[1].total(), item[0]))
    return {name: dict(counts.most_common()) for name, counts in ordered}


def values_in(report: ScanReport) -> int:
    """Return how many sensitive values there are."""
    return sum(found_in(table).total() for table in report.tables)


def statement(report: ScanReport) -> str:
    """Return the result in one sentence."""
    tables, values = len(report.tables), values_in(report)
    if not tables:
        return "No table was scanned"
    if not values:
        return f"No sensitive value in {counted(tables, 'table')}"
    affected = sum(1 for table in report.tables if found_in(table))
    return f"{counted(values, 'sensitive value')} in {affected:,} of {counted(tables, 'table')}"


def errors_of(report: ScanReport) -> list[tuple[str, str, int, list[str]]]:
    """Return the errors of a column that are alike as one: where, why, how many, and the digests of the first rows."""
    alike: dict[tuple[str, str], list[ErrorLine]] = {}
    for error in report.errors:
        alike.setdefault((f"{error.table}, {error.column}", error.reason), []).append(error)
    return [(*key, len(lines), [line.row for line in lines[:MOST_ROWS]]) for key, lines in alike.items()]


FILTERS: Final[dict[str, Callable[..., Any]]] = {
    "moment": moment,
    "size": decimal,
    "number": "{:,}".format,
    "counted": counted,
    "share": share,
    "name_of": name_of,
    "found_in": found_in,
}
"""Of the template."""
