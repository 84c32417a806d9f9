"""How fast a stock database is scanned and scrubbed: `python benchmarks/scan.py [--threads 300] [--turns 10] [--json]`.

A real agent fills a new database of the embedded server under LangGraph's own saver: a tool call in each turn, an item of the
store a thread. Then, in turn, several times: all rows are read by psycopg and thrown away, which is the least that a scan can take;
LangGraph's saver lists all checkpoints, which makes all their objects; and they are scanned. At the end they are scrubbed once, and
scanned again. Medians, rows and MB a second, the ratio of each to reading, and the most memory of the process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import psycopg
from comparing.database import Database
from langgraph.checkpoint.postgres import PostgresSaver
from rich.console import Console
from rich.table import Table
from scanning.filling import fill

from discreet.redaction import Redactor
from discreet.scanning import Scanner, ScanReport, open_database
from discreet.scanning.scrubbing import Scrubber
from discreet.storage.embedded import lease_server

TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "store")


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=300)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--result-chars", type=int, default=2_000, help="of each tool's result")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        os.environ["DISCREET_DATA_DIR"] = folder
        with lease_server(Path(folder)) as admin, Database(admin) as database:
            asyncio.run(
                fill(database.dsn, threads=options.threads, turns=options.turns, result_chars=options.result_chars)
            )
            figures = _measured(database.dsn, options.rounds)
    print(json.dumps(figures)) if options.json else _print(figures)


def _measured(dsn: str, rounds: int) -> dict[str, dict[str, float]]:
    ways: dict[str, Callable[[str], object]] = {"read": _read, "list": _listed, "scan": _scanned}
    times: dict[str, list[float]] = {way: [] for way in ways}
    report = _scanned(dsn)
    for _ in range(rounds):
        for way, measured in ways.items():
            times[way].append(_timed(measured, dsn))
    seconds = {way: median(each) for way, each in times.items()}
    seconds["scrub"] = _timed(_scrubbed, dsn)
    left = _scanned(dsn)
    assert not left.types, "the scrub left something"
    least = seconds["read"]
    figures = {
        way: {
            "seconds": taken,
            "rows_per_second": report.rows / taken,
            "mb_per_second": report.read_bytes / 1e6 / taken,
            "times_reading": taken / least,
        }
        for way, taken in seconds.items()
    }
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures["all"] = {
        "rows": report.rows,
        "mb": report.read_bytes / 1e6,
        "values": sum(report.types.values()),
        "most_rss_mb": usage,
    }
    return figures


def _timed(work: Callable[[str], object], dsn: str) -> float:
    begun = time.perf_counter()
    work(dsn)
    return time.perf_counter() - begun


def _read(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        for table in TABLES:
            with connection.cursor(name="all", binary=True) as cursor:
                cursor.itersize = 200
                cursor.execute(f"SELECT * FROM {table}")  # type: ignore[arg-type]
                for _ in cursor:
                    pass


def _listed(dsn: str) -> None:
    with PostgresSaver.from_conn_string(dsn) as saver:
        for _ in saver.list(None):
            pass


def _scanned(dsn: str) -> ScanReport:
    """Scan as a new process would: with nothing known of the texts."""
    database = open_database(dsn)
    try:
        return Scanner(database, Redactor()).scan()
    finally:
        database.close()


def _scrubbed(dsn: str) -> None:
    database = open_database(dsn, writes=True)
    try:
        Scrubber(database, Redactor(placeholder_key=bytes(32))).scrub()  # type: ignore[arg-type]  # it is PostgreSQL
    finally:
        database.close()


def _print(figures: dict[str, dict[str, float]]) -> None:
    whole = figures.pop("all")
    table = Table(box=None, pad_edge=False)
    for name in ("", "seconds", "rows/s", "MB/s", "× reading"):
        table.add_column(name, justify="right" if name else "left")
    for way, each in figures.items():
        table.add_row(
            way,
            f"{each['seconds']:.2f}",
            f"{each['rows_per_second']:,.0f}",
            f"{each['mb_per_second']:.2f}",
            f"{each['times_reading']:.1f}",
        )
    Console(highlight=False).print(table)
    print(
        f"{whole['rows']:,} rows, {whole['mb']:.1f} MB, {whole['values']:,} sensitive values; at most {whole['most_rss_mb']:.0f} MB of memory."
    )


if __name__ == "__main__":
    main()
