"""`discreet scrub`: rewrite a database, after a look at what that would change, and look afterwards what is left."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table

from discreet.checkpoint.policy import CheckpointPolicy
from discreet.cli.progress import interruptible
from discreet.cli.scan import folder_of, named_database, scanned, told
from discreet.cli.scan_table import places_table
from discreet.errors import ConfigurationError, ScanError
from discreet.named_objects import named_object
from discreet.private_files import make_private
from discreet.redaction.configured import default_redactor
from discreet.scanning import ScanOptions, ScanReport, open_database
from discreet.scanning.databases.pickle_files import PickleFiles
from discreet.scanning.scrubbing import Scrubber, ScrubOptions, ScrubReport, advice
from discreet.scanning.scrubbing.change_log import ChangeLog
from discreet.settings import Settings, load_settings


def run_scrub(
    where: str | None,
    *,
    dry_run: bool,
    yes: bool,
    prune: bool,
    policy: str | None,
    only: Sequence[str],
    every: bool,
    resume: bool,
    log_file: Path | None,
    as_json: bool,
) -> int:
    """Scrub, or only say what would change; return 1 if something is left or nobody said yes, else 0.

    Raises:
        ScanError: It can't be scrubbed.
        ConfigurationError: The policy can't be used.
        StorageError: The database failed. What was done is done, and --resume goes on.
    """
    settings = load_settings()
    options = ScrubOptions(every=every, only=tuple(only), policy=_policy(policy), prune=prune)
    with named_database(where, settings) as named:
        if dry_run or not yes:
            would = _scrubbed(named, options, settings, dry_run=True)
            if as_json and dry_run:
                print(would.model_dump_json())
            else:
                _print(would)
            if dry_run:
                return 0
            if not would.changed:
                print("There is nothing to rewrite.")
                return 0
            if not _says_yes():
                print("Nothing was changed.", file=sys.stderr)
                return 1
        report = _scrubbed(named, options, settings, dry_run=False, resume=resume, log_file=log_file)
        report.left = _left(named, options, settings)
    if as_json:
        print(report.model_dump_json())
    else:
        _print(report)
    return 0 if report.is_clean else 1


def _scrubbed(
    where: str,
    options: ScrubOptions,
    settings: Settings,
    *,
    dry_run: bool,
    resume: bool = False,
    log_file: Path | None = None,
) -> ScrubReport:
    database = open_database(where, writes=not dry_run)
    if isinstance(database, PickleFiles):
        raise ScanError(
            "Files of langgraph dev are not rewritten: a server has them open. Stop it, delete the folder, and start it with Discreet."
        )
    log = None if dry_run else ChangeLog(log_file or _default_log(settings))
    try:
        stays = "Stopped. Nothing was changed." if dry_run else "Stopped. What was done is done: go on with --resume."
        with interruptible(stays), told("Looking" if dry_run else "Scrubbing") as tell:
            scrubber = Scrubber(database, default_redactor(), options=options, dry_run=dry_run, log=log, told=tell)
            report = scrubber.scrub(folder=None if dry_run else folder_of(settings), resume=resume)
        report.advice = (
            [] if dry_run else advice(database, {each.table for each in report.tables if each.changed + each.deleted})
        )
    finally:
        database.close()
        if log:
            log.close()
    return report


def _left(where: str, options: ScrubOptions, settings: Settings) -> ScanReport:
    database = open_database(where)
    try:
        return scanned(database, ScanOptions(every=options.every, only=options.only), settings)
    finally:
        database.close()


def _default_log(settings: Settings) -> Path:
    folder = folder_of(settings)
    make_private(folder, only=())
    return folder / f"scrub-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.jsonl"


def _policy(name: str | None) -> CheckpointPolicy | None:
    if name is None:
        return None
    found = named_object("--policy", name, kind="POLICY")
    if not isinstance(found, CheckpointPolicy):
        raise ConfigurationError(f"--policy names {name!r}, which is no CheckpointPolicy.")
    return found


def _says_yes() -> bool:
    if not sys.stdin.isatty():
        print("Say --yes where nobody can be asked.", file=sys.stderr)
        return False
    return typer.confirm("Is there a backup, and shall these rows be rewritten?", default=False)


def _print(report: ScrubReport) -> None:
    console = Console(highlight=False)
    console.print(_table(report))
    if (places := places_table({each.table: each.places for each in report.tables})) is not None:
        console.print("", places, "", sep="\n")
    print(f"{report.threads:,} threads, {report.open_threads:,} of them in the middle of a turn.")
    if report.pruned:
        print(
            f"{report.pruned:,} checkpoints {'would be' if report.dry_run else 'were'} pruned: older states of threads."
        )
    if report.open_threads:
        print(
            "Their tool calls keep their arguments, with placeholders in them: let such turns end first where that matters."
        )
    if unread := sum(each.unreadable for each in report.tables):
        print(f"{unread:,} values stay as they are: encrypted, damaged, or too large.")
    if meanwhile := sum(each.changed_meanwhile for each in report.tables):
        print(f"{meanwhile:,} rows were changed by somebody else in that moment, and stay: scrub again.")
    if refused := sum(each.refused for each in report.tables):
        where = ", ".join(each.table for each in report.tables if each.refused)
        print(f"{refused:,} rows of {where} stay: a constraint, a type or a width allows no placeholder there.")
    if report.unpruned_threads:
        print(
            f"{report.unpruned_threads:,} threads have a DeltaChannel, whose history is its value: nothing of them was pruned."
        )
    if report.left is not None:
        _print_left(report)


def _table(report: ScrubReport) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("table")
    changes = ("would change", "would go") if report.dry_run else ("changed", "deleted")
    for name in ("rows", *changes, "bytes before", "after"):
        table.add_column(name, justify="right")
    for each in report.tables:
        numbers = (each.rows, each.changed, each.deleted)
        table.add_row(
            each.table, *(f"{number:,}" for number in numbers), decimal(each.bytes_before), decimal(each.bytes_after)
        )
    return table


def _print_left(report: ScrubReport) -> None:
    left = report.left
    assert left is not None, "it was scanned"
    if left.types:
        named = ", ".join(f"{count:,} {name}" for name, count in left.types.items())
        print(f"Still there: {named}. {_why(report)}")
    else:
        print("A second scan found no sensitive value.")
    if left.in_ids:
        named = ", ".join(f"{count:,} {name}" for name, count in left.in_ids.items())
        print(f"In ids of threads and names of items, which stay: {named}.")
    for each in report.advice:
        print(f"{each.statement};  -- {decimal(each.bytes)} now")
    if report.advice:
        print(
            "Old rows are in the files until these have run, in the write-ahead log until it is recycled, and in backups."
        )


def _why(report: ScrubReport) -> str:
    """Return why something is left, as far as the counts tell."""
    if any(each.refused or each.unreadable or each.changed_meanwhile for each in report.tables):
        return "It is in the rows and values named above, or was written meanwhile: mend these, then scrub again."
    if any(each.statement.startswith("REFRESH") for each in report.advice):
        return "Materialized views keep what they were made of: refresh them as below."
    return "An application that goes on with its old saver writes more: change that first, then scrub again."
