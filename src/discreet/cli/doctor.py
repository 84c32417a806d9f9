"""`discreet doctor`: look at the settings and at what they name, and say what to do."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict

from rich.console import Console
from rich.table import Table
from rich.text import Text

from discreet.cli.checks import IN_FORCE, Check, in_force_check, settings_checks, unknown_names, versions_check
from discreet.cli.probe import probe_checks
from discreet.cli.reach import database_checks, redis_check, replica_check
from discreet.errors import WrongSettingsError
from discreet.settings import load_settings

COLOURS = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def run_doctor(dsn: str | None, *, probe: bool, as_json: bool) -> int:
    """Print a line for each check; return 1 if one has failed, else 0. Where it is no terminal, tabs are between fields."""
    checks = asyncio.run(diagnose(dsn, probe=probe))
    failed = any(check.state == "fail" for check in checks)
    if as_json:
        print(json.dumps({"ok": not failed, "checks": [asdict(check) for check in checks]}))
    elif sys.stdout.isatty():
        Console().print(_table(checks))
    else:
        print("\n".join(f"{check.state}\t{check.name}\t{check.say}" for check in checks))
    return 1 if failed else 0


async def diagnose(dsn: str | None = None, *, probe: bool = False) -> list[Check]:
    """Return all checks. Nothing is changed, and models are asked with `probe` only."""
    names = unknown_names()
    try:
        settings = load_settings()
    except WrongSettingsError as error:
        wrong = [Check(variable, "fail", why) for variable, why in error.problems]
        return [*wrong, *names, versions_check()]
    database, replica, redis, answers = await asyncio.gather(
        database_checks(dsn, settings),
        replica_check(settings),
        redis_check(settings),
        probe_checks(settings, probe=probe),
    )
    told = await asyncio.to_thread(settings_checks, settings)
    if not any(check.name == IN_FORCE for check in database):
        told.append(await asyncio.to_thread(in_force_check, settings))
    return [*database, *replica, redis, *told, *answers, *names, versions_check()]


def _table(checks: list[Check]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    for check in checks:
        table.add_row(Text(check.state, style=COLOURS[check.state]), Text(check.name), Text(check.say))
    return table
