"""What `discreet migrate-history` prints: numbers, pseudonyms and phases, and never what somebody said."""

from __future__ import annotations

import json
from collections import Counter
from datetime import timedelta

from rich.console import Console
from rich.table import Table

from discreet.importing.bad_rows import BadRowsFile
from discreet.importing.history.planning import STEPS, Plan
from discreet.importing.history.validating import KINDS, Comparison
from discreet.state.memory_settings import HistoryMigration


def print_plan(found: Plan) -> None:
    """Print what there is to move, and the steps."""
    table = Table(box=None, pad_edge=False, show_header=False)
    left = found.seconds_left_least, found.seconds_left_median
    rows = {
        "phase": found.phase,
        "users": f"{found.users:,}",
        "rounds": f"{found.rounds:,}",
        "bytes": f"{found.bytes:,}",
        "oldest, newest": f"{found.oldest:%Y-%m-%d %H:%M:%S}, {found.newest:%Y-%m-%d %H:%M:%S} UTC"
        if found.oldest
        else "-",
        "gone if nobody speaks": ", ".join(
            ("-" if each is None else str(timedelta(seconds=round(each)))) + which
            for each, which in zip(left, (" (the first)", " (half of them)"), strict=True)
        ),
        "kept without a limit": f"{found.kept_forever:,}",
        "ours already": f"{found.there:,}",
        "erased by their users": f"{found.erased:,}",
        **{f"can't be read: {reason}": f"{number:,}" for reason, number in sorted(found.unreadable.items())},
    }
    for name, value in rows.items():
        table.add_row(name, value)
    console = Console(highlight=False)
    console.print(table)
    steps = Table(box=None, pad_edge=False, show_header=False)
    for command, what in STEPS:
        steps.add_row(f"discreet migrate-history {command}", what)
    console.print("\nThe steps:", steps)


def print_copied(done: Counter[str], file: BadRowsFile, *, as_json: bool) -> None:
    """Print how many rounds came to what."""
    counts = {name: done[name] for name in ("written", "there", "erased", "bad")}
    if as_json:
        print(json.dumps(counts), flush=True)
        return
    told = f"{counts['written']:,} rounds copied, {counts['there']:,} were there."
    if counts["erased"]:
        told += f" {counts['erased']:,} stay out: their users had theirs erased afterwards."
    if counts["bad"]:
        told += f" {counts['bad']:,} can't be read: see {file.path}, which has their text."
    print(told, flush=True)


def print_comparison(found: Comparison, *, as_json: bool) -> None:
    """Print what differs, by pseudonym and kind."""
    if as_json:
        print(json.dumps(found.told()))
        return
    if found.mismatches:
        table = Table("user", *KINDS, box=None, pad_edge=False)
        for user, counts in sorted(found.mismatches.items()):
            table.add_row(user, *(str(counts[kind] or "") for kind in KINDS))
        Console(highlight=False).print(table)
    verdict = "Equal" if found.passed else f"{len(found.mismatches):,} users differ"
    if not found.rounds and not found.mismatches:
        verdict = "Nothing to compare: Redis has no round of that time"
    told = f"{verdict}: {found.rounds:,} rounds of {found.users:,} users compared."
    if found.erased:
        told += f" {found.erased:,} stay out, as their users had theirs erased."
    if found.unreadable:
        told += f" {found.unreadable.total():,} can't be read."
    print(told)


def print_phase(phase: HistoryMigration, told: str, *, as_json: bool) -> None:
    """Print what holds now."""
    print(json.dumps({"history_migration": phase}) if as_json else told)
