"""`discreet scan`: what a database holds, as a table, as JSON and as a page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import typer

from discreet.cli.progress import bar, interruptible
from discreet.cli.scan_table import print_report
from discreet.errors import ScanError
from discreet.redaction.configured import default_redactor
from discreet.scanning import Scanner, ScanOptions, ScanReport, open_database
from discreet.scanning.databases import Opened
from discreet.scanning.page import render
from discreet.settings import Settings, load_settings
from discreet.storage.opening import resolve_dsn


def run_scan(
    where: str | None,
    *,
    sample: float,
    only: Sequence[str],
    every: bool,
    resume: bool,
    html: Path | None,
    fail_on: Sequence[str],
    as_json: bool,
) -> int:
    """Scan and print; return 1 if something is there that is named in `fail_on`, else 0.

    Raises:
        ScanError: It can't be read, or the page can't be written.
        StorageError: The database failed. What was read is known, for --resume.
    """
    settings = load_settings()
    with named_database(where, settings) as named:
        database = open_database(named)
        try:
            report = scanned(
                database, ScanOptions(sample=sample, every=every, only=tuple(only)), settings, resume=resume
            )
        finally:
            database.close()
    if html is not None:
        try:
            html.write_text(render(report), encoding="utf-8")
        except OSError as error:
            raise ScanError(f"{html} can't be written ({type(error).__name__}).") from None
    if as_json:
        print(report.model_dump_json())
    else:
        print_report(report)
    return 1 if report.fails(fail_on) else 0


def scanned(database: Opened, options: ScanOptions, settings: Settings, *, resume: bool = False) -> ScanReport:
    """Return a scan's report, with a bar meanwhile that says how far it is."""
    with interruptible("Stopped. What was read is known: go on with --resume."), told("Scanning") as tell:
        scanner = Scanner(database, default_redactor(), options=options, told=tell)
        return scanner.scan(folder=folder_of(settings), resume=resume)


@contextmanager
def told(what: str) -> Iterator[Callable[[str, int, int], None]]:
    """Yield what shows how many rows are done. The bar comes with the first of them: then it is known how many there are."""
    with ExitStack() as stack:
        shows: list[Callable[[int], None]] = []

        def show(_: str, done: int, total: int) -> None:
            if not shows:
                shows.append(stack.enter_context(bar(what, total)))
            shows[0](done)

        yield show


def folder_of(settings: Settings) -> Path:
    """Return where it is remembered how far work is."""
    return settings.data_dir / "scans"


@contextmanager
def named_database(where: str | None, settings: Settings) -> Iterator[str]:
    """Yield what `where` names, else the database of the settings, which runs meanwhile if it is the embedded one."""
    if where is not None:
        yield where
        return
    with asyncio.Runner() as runner:
        resolved = resolve_dsn(None, settings)
        dsn = runner.run(resolved.__aenter__())
        try:
            yield dsn
        finally:
            runner.run(resolved.__aexit__(None, None, None))


def part_of(text: str) -> float:
    """Return a part that is written as 5% or 0.05.

    Raises:
        BadParameter: It is none.
    """
    try:
        part = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        part = 0.0
    if not 0.0001 <= part <= 1:  # one in ten thousand is the finest that is chosen by
        raise typer.BadParameter("--sample is a part of the threads: from 0.01% to 100%, or 0.0001 to 1.")
    return part
