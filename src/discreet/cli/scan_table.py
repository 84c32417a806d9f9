"""Print the report of a scan as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from rich.console import Console
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from discreet.scanning.page.figures import by_type, counted, found_in, moment, name_of, printable, share, statement
from discreet.scanning.report import ScanReport, Usage

MOST_LINES = 100
"""Of a table; a database can have hundreds of tables, and a type can be in all of them."""
LEAST_WIDTH = 12
"""Of names, however large the figures are."""


def print_report(report: ScanReport) -> None:
    """Print what was found, and what to do next."""
    console = Console(highlight=False)
    for table in _tables(report):
        console.print(table)
        console.print()
    if report.not_scanned:
        print(f"Not scanned, see --all-tables: {len(report.not_scanned):,} tables of which nothing is known.")
    if report.sample < 1:
        print(f"This is a sample: {100 * report.sample:g} % of the threads.")
    in_ids = sum(report.in_ids.values())
    if in_ids:
        print(f"{in_ids:,} of the values are in ids and can't be rewritten.")
    for channel, threads in report.unkept.items():
        print(f"Would not be kept: channel {printable(channel)}, {counted(threads, 'thread')}.")
    if report.keeping:
        print(f"RedactingSaver keeps them with policy={printable(report.keeping)}.")
    if report.seconds:
        rates = f"{report.rows / report.seconds:,.0f} rows/s, {decimal(int(report.read_bytes / report.seconds))}/s"
        print(f"{report.rows:,} rows, {decimal(report.read_bytes)}, read in {report.seconds:,.1f} s: {rates}.")
    print(f"{statement(report)} of {printable(report.database)}.")
    prune = "; with --prune it frees the space too" if report.usage is not None and report.usage.prunable_bytes else ""
    if report.types:
        print(f"Next: discreet scrub --dry-run says what would change, discreet scrub takes them out{prune}.")
    else:
        print("There is nothing for discreet scrub to take out.")


def _tables(report: ScanReport) -> Iterator[Table]:
    """Yield those that have something to say."""
    unreadable = ["unreadable"] if report.unreadable else []
    tables = (
        (each.label, name_of(each), each.rows, decimal(each.bytes), found_in(each).total(), each.unreadable)
        for each in report.tables
    )
    figures = ["rows", "on disk", "values", *unreadable]
    yield _table(["what sits there", "table"], figures, (line[: 2 + len(figures)] for line in tables))
    counts = {(name_of(table), name): count for table in report.tables for name, count in table.types.items()}
    types = by_type(report, lambda table: {name: count.values for name, count in table.types.items()})
    if types:
        lines = (
            (name if number == 0 else "", place, values, counts[place, name].rows, counts[place, name].threads)
            for name, places in types.items()
            for number, (place, values) in enumerate(places.items())
        )
        yield _table(("type", "table"), ("values", "rows", "threads"), lines)
    if (places := places_table({name_of(table): table.places for table in report.tables})) is not None:
        yield places
    if report.kinds:
        yield _table(("kind",), ("how many",), report.kinds.items())
    if report.usage is not None:
        yield _table(("usage",), ("",), _usage(report.usage))


def places_table(places: Mapping[str, Mapping[str, Mapping[str, int]]]) -> Table | None:
    """Return a table of columns and names of fields, by table, with what stands there, the most first; None of nothing."""
    lines = [
        (table, place, types)
        for table, of_table in places.items()
        for place, types in sorted(of_table.items(), key=lambda each: -sum(each[1].values()))
    ]
    told = (
        (table, place, ", ".join(f"{count:,} {name}" for name, count in types.items())) for table, place, types in lines
    )
    return _table(("table", "column and keys", "values"), (), told) if lines else None


def _usage(usage: Usage) -> Iterator[tuple[str, str]]:
    yield "threads", f"{usage.threads:,}"
    yield "checkpoints", f"{usage.checkpoints:,}"
    yield "bytes", decimal(usage.bytes)
    yield "prunable", f"{decimal(usage.prunable_bytes)}, {share(usage.prunable_bytes, usage.bytes)}"
    yield "in the middle of a turn", f"{usage.open_threads:,}"
    yield "oldest", moment(usage.oldest)
    yield "newest", moment(usage.newest)
    for thread in usage.largest[:3]:
        yield f"large: {thread.thread}", f"{decimal(thread.bytes)}, {thread.checkpoints:,} checkpoints"


def _table(words: Iterable[str], figures: Iterable[str], lines: Iterable[Iterable[str | int]]) -> Table:
    """Return a table whose first columns are words. Names are a foreign database's: they are no markup."""
    table = Table(box=None, pad_edge=False)
    for name in words:
        table.add_column(name, overflow="fold", min_width=LEAST_WIDTH)
    for name in figures:
        table.add_column(name, justify="right", overflow="fold")
    rest = iter(lines)
    for line in islice(rest, MOST_LINES):
        table.add_row(*(Text(f"{cell:,}" if isinstance(cell, int) else printable(cell)) for cell in line))
    more = sum(1 for _ in rest)
    if more:
        table.add_row(f"… and {more:,} more")
    return table
