"""What `discreet migrate-history` prints: numbers, pseudonyms and phases, and never what somebody said."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from rich.console import Console
from rich.table import Table

from discreet.importing.bad_rows import BadRowsFile
from discreet.importing.history.comparing import KINDS, Kind
from discreet.importing.history.planning import STEPS, Plan
from discreet.importing.history.validating import Comparison
from discreet.state.memory_settings import HistoryMigration

OUTCOMES: Final = ("written", "there", "doubled", "repaired", "kept", "busy", "erased", "bad")

_REPAIR: Final = "V1 has it otherwise than when it was copied: `dual-write --repair` puts V1's in the place of ours."
MENDED: Final[Mapping[Kind, str]] = {
    "missing": "`dual-write` again copies them.",
    "extra": "ours has what V1 no longer has, or never had: removed there, or its writing failed. Nothing removes it from ours but "
    "an erasure; it is compared for a day. If that is right: `--hours` of less, or `switch --force`.",
    "order": _REPAIR,
    "text": _REPAIR,
    "emergency": _REPAIR,
}
"""What can be done for each kind."""


def print_plan(found: Plan) -> None:
    """Print what there is to move, and the steps."""
    table = Table(box=None, pad_edge=False, show_header=False)
    keys = found.unreadable_keys
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
        "there twice": f"{found.doubled:,}",
        "ours already": f"{found.there:,}",
        "erased by their users": f"{found.erased:,}",
        **{f"can't be read: {reason}": f"{number:,}" for reason, number in sorted(found.unreadable.items())},
        **{f"keys that can't be read: {_short(reason)}": f"{number:,}" for reason, number in sorted(keys.items())},
    }
    for name, value in rows.items():
        table.add_row(name, value)
    console = Console(highlight=False)
    console.print(table)
    steps = Table(box=None, pad_edge=False, show_header=False)
    for command, what in STEPS:
        steps.add_row(f"discreet migrate-history {command}", what)
    console.print("\nThe steps:", steps)


def print_copied(done: Counter[str], keys: Counter[str], file: BadRowsFile, *, as_json: bool) -> None:
    """Print how many rounds came to what, and how many keys can't be read."""
    counts = {name: done[name] for name in OUTCOMES}
    if as_json:
        print(json.dumps({**counts, "unreadable_keys": dict(keys)}), flush=True)
        return
    told = f"{counts['written']:,} rounds copied, {counts['there']:,} were there."
    if counts["doubled"]:
        told += f" {counts['doubled']:,} are there twice, and once in ours."
    if counts["repaired"]:
        told += f" {counts['repaired']:,} repaired: they are V1's again."
    if counts["kept"]:
        told += f" {counts['kept']:,} differ and stay: ours did not come from V1."
    if counts["busy"]:
        told += f" {counts['busy']:,} wait: their users are being erased. Run it again when that is done."
    if counts["erased"]:
        told += f" {counts['erased']:,} stay out: their users had theirs erased afterwards."
    told += told_keys(keys)
    if counts["bad"]:
        told += f" {counts['bad']:,} can't be read."
    if counts["bad"] or keys:
        told += f" See {file.path}, which has them as they are."
    print(told, flush=True)


def told_keys(keys: Counter[str]) -> str:
    """Return how many keys can't be read, and why; nothing if there is none."""
    if not keys:
        return ""
    reasons = ", ".join(f"{number:,} {_short(reason)}" for reason, number in sorted(keys.items()))
    return f" {keys.total():,} keys can't be read ({reasons})."


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
    print(_verdict(found))
    for kind in KINDS:
        if found.kinds[kind]:
            print(f"{kind} ({found.kinds[kind]:,}): {MENDED[kind]}")


def _verdict(found: Comparison) -> str:
    verdict = "Equal" if found.passed else f"{len(found.mismatches):,} users differ"
    if not found.rounds and not found.mismatches:
        verdict = "Nothing to compare: Redis has no round of that time"
    told = f"{verdict}: {found.rounds:,} rounds of {found.users:,} users compared."
    if found.erased:
        told += f" {found.erased:,} stay out, as their users had theirs erased."
    if found.unreadable:
        told += f" {found.unreadable.total():,} can't be read."
    if found.doubled:
        told += f" {found.doubled:,} are there twice."
    if found.more:
        told += f" Ours has {found.more:,} more that did not come from V1."
    return told + told_keys(found.unreadable_keys)


def print_phase(phase: HistoryMigration, told: str, *, as_json: bool) -> None:
    """Print what holds now."""
    print(json.dumps({"history_migration": phase}) if as_json else told)


def _short(reason: str) -> str:
    return reason.removeprefix("key: ")
