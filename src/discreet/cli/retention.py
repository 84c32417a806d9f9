"""`discreet retention`: how long what is kept, and letting go of what was kept as long as that."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from rich.box import HORIZONTALS
from rich.console import Console
from rich.table import Column, Table

from discreet.access.actor import acting
from discreet.cli.progress import spinner
from discreet.cli.session import operator
from discreet.cli.settings import values_and_sources
from discreet.providers.environment_values import SAME
from discreet.settings import load_settings
from discreet.state.memory_settings import MemorySettings
from discreet.storage import Storage, open_storage
from discreet.storage.retention import KINDS, Due, Kind
from discreet.storage.retention.threads import thread_sweeper


def run_show(dsn: str | None, *, as_json: bool) -> None:
    """Print the table: what is kept, for how long, and who says so.

    Raises:
        StorageError: The database can't be used.
    """
    values, told = values_and_sources(dsn)
    rows = [_row(kind, values, None if kind.setting is None else told[kind.setting]) for kind in KINDS]
    if as_json:
        print(json.dumps(rows, ensure_ascii=False))
        return
    table = Table(Column("what", overflow="fold"), "kept", "from", box=HORIZONTALS)
    for row in rows:
        said_by = f"{row['from']}\n{row['variable'] or ''}".strip()
        table.add_row(f"[bold]{row['kind']}[/]: {row['what']}\n{row['until']}".strip(), row["kept"] or "-", said_by)
    Console().print(table)


def run_sweep(dsn: str | None, *, dry_run: bool, checkpoint_schema: str | None, as_json: bool) -> None:
    """Delete all that was kept as long as it is kept, and print what that was; with `dry_run` what it would be.

    Raises:
        StorageError: The database failed. What was deleted before stays so; run it again.
        ConfigurationError: There are several sets of checkpoint tables, and none is named.
    """
    with acting(operator(load_settings())):
        rows = asyncio.run(_sweep(dsn, dry_run=dry_run, checkpoint_schema=checkpoint_schema))
    if as_json:
        print(json.dumps({"dry_run": dry_run, "kinds": rows}))
        return
    shown = [row for row in rows if row["rows"]]
    if not shown:
        print("Nothing is due.")
        return
    table = Table("kind", Column("would go" if dry_run else "went", justify="right"), box=HORIZONTALS)
    if dry_run:
        table.add_column("the oldest of")
    for row in shown:
        oldest = [(row["oldest"] or "-")[:16].replace("T", " ")] if dry_run else []
        table.add_row(row["kind"], f"{row['rows']:,}", *oldest)
    Console(highlight=False).print(table)


async def _sweep(dsn: str | None, *, dry_run: bool, checkpoint_schema: str | None) -> list[dict[str, Any]]:
    async with _opened(dsn, checkpoint_schema) as storage:
        if dry_run:
            return [_due(due) for due in await storage.retention.due()]
        with spinner("Sweeping") as show:
            gone = await storage.retention.sweep(told=lambda so_far: show(_told(so_far)))
    return [{"kind": kind.name, "rows": gone.get(kind.name, 0)} for kind in KINDS]


@asynccontextmanager
async def _opened(dsn: str | None, checkpoint_schema: str | None) -> AsyncIterator[Storage]:
    """Yield a storage beside which nothing else sweeps."""
    settings = load_settings()
    async with open_storage(dsn, settings=settings, maintained=False) as storage:
        if checkpoint_schema is not None:
            threads = thread_sweeper(storage.works_pool, pause_seconds=settings.pause_seconds, schema=checkpoint_schema)
            storage.retention.add(threads)
        yield storage


def _told(gone: Mapping[str, int]) -> str:
    return "Sweeping: " + ", ".join(f"{number:,} {kind}" for kind, number in gone.items())


def _due(due: Due) -> dict[str, Any]:
    return {"kind": due.kind, "rows": due.rows, "oldest": due.oldest and due.oldest.isoformat()}


def _row(kind: Kind, values: MemorySettings, source: str | None) -> dict[str, Any]:
    variable = None
    if kind.setting is not None and source == "environment":
        variable = f"DISCREET_{SAME[kind.setting].upper()}"
    return {
        "kind": kind.name,
        "what": kind.what,
        "kept": None if kind.setting is None else _kept(kind.setting, values),
        "setting": kind.setting,
        "from": source or "-",
        "variable": variable,
        "until": kind.until,
        "tables": list(kind.tables),
    }


def _kept(setting: str, values: MemorySettings) -> str:
    number = getattr(values, setting)
    return f"{number:,} {setting.rpartition('_')[2]}" if number else "until deleted"
