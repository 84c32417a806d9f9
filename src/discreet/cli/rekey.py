"""`discreet rekey`: bring what is sealed under the newest key, and once what was stored before there was one, while servers go on."""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict

from rich.box import HORIZONTALS
from rich.console import Console
from rich.table import Column, Table

from discreet.access.actor import acting
from discreet.cli.progress import bar, spinner
from discreet.cli.session import operator
from discreet.encryption import MAKE_ONE, keys_from_settings
from discreet.errors import ConfigurationError
from discreet.ports import KeyProvider
from discreet.settings import load_settings
from discreet.storage import Storage, open_storage
from discreet.storage.database.connecting.pool import sees_everybody
from discreet.storage.memories.spaces.reindex import rebuild_search_index
from discreet.storage.rekeying import STORED_BEFORE, KeyCount, Rekeyed, Rekeying


def run_rekey(dsn: str | None, *, seal_plain: bool, dry_run: bool, as_json: bool, reindex: bool) -> int:
    """Move everything to the current key, or count what there is; return 1 if something is lost, left or plain, else 0.

    `seal_plain`: seal what is plain too; the operator vouches for it.

    Raises:
        ConfigurationError: There is no key.
        StorageError: The database failed. What was moved stays so; run it again.
    """
    keys = keys_from_settings()
    if keys is None:
        raise ConfigurationError(
            f"There is no key to seal with. Set DISCREET_ENCRYPTION_KEYS or another source of keys (docs/keys.md). {MAKE_ONE}"
        )
    with acting(operator(load_settings())):
        if dry_run:
            rows, counts = asyncio.run(_count(dsn, keys, seal_plain=seal_plain))
            _print_counts(rows, counts, keys.current().id, as_json=as_json)
            return 1 if any(count.lost or (count.key_id is None and not seal_plain) for count in counts) else 0
        start = time.perf_counter()
        came = asyncio.run(_move(dsn, keys, seal_plain=seal_plain, reindex=reindex))
    _print(came, round(time.perf_counter() - start, 1), as_json=as_json)
    return 0 if came.finished and not any([*came.lost.values(), *came.plain.values()]) else 1


async def _count(dsn: str | None, keys: KeyProvider, *, seal_plain: bool) -> tuple[dict[str, int], list[KeyCount]]:
    async with _opened(dsn, keys) as (_, rekeying):
        rows = await rekeying.left(seal_plain=seal_plain)
        with spinner("Opening") as show:
            return rows, await rekeying.counts(lambda done: show(f"Opening: {done:,} rows"))


async def _move(dsn: str | None, keys: KeyProvider, *, seal_plain: bool, reindex: bool) -> Rekeyed:
    async with _opened(dsn, keys) as (storage, rekeying):
        with bar("Rekeying", sum((await rekeying.left(seal_plain=seal_plain)).values())) as advance:
            came = await rekeying.run(advance, seal_plain=seal_plain)
        if reindex:
            await rebuild_search_index(storage.access.owner)
    return came


@asynccontextmanager
async def _opened(dsn: str | None, keys: KeyProvider) -> AsyncIterator[tuple[Storage, Rekeying]]:
    """Yield a storage beside which nothing else goes on.

    Raises:
        ConfigurationError: No role that is named sees the rows of all users.
    """
    async with open_storage(dsn, settings=load_settings(), keys=keys, maintained=False) as storage:
        if not await sees_everybody(storage.works_pool):
            raise ConfigurationError(
                "This role sees the rows of one user at a time. Name the worker's in DISCREET_POSTGRES_WORKER_DSN (docs/roles.md)."
            )
        yield storage, Rekeying(storage.works_pool, keys=keys, audit=storage.audit)


def _print_counts(rows: dict[str, int], counts: list[KeyCount], current: str, *, as_json: bool) -> None:
    by_table: defaultdict[str, list[KeyCount]] = defaultdict(list)
    for count in counts:
        by_table[count.table].append(count)
    if as_json:
        tables = {
            name: {
                "rows": number,
                "plain": sum(count.values for count in by_table[name] if count.key_id is None),
                "keys": {count.key_id: count.values for count in by_table[name] if count.key_id is not None},
                "lost": sum(count.lost for count in by_table[name]),
            }
            for name, number in rows.items()
        }
        print(json.dumps({"dry_run": True, "key": current, "tables": tables}))
        return
    table = Table(
        "table", Column("rows to move", justify="right"), Column("values, by key", overflow="fold"), box=HORIZONTALS
    )
    for name, number in rows.items():
        table.add_row(name, f"{number:,}", ", ".join(_told(count, current) for count in by_table[name]) or "-")
    Console(highlight=False).print(table)
    if plain := sum(count.values for count in counts if count.key_id is None):
        print(f"{plain:,} plain values are not read. {STORED_BEFORE}")


def _told(count: KeyCount, current: str) -> str:
    if count.key_id is None:
        return f"{count.values:,} plain"
    notes = ["current"] if count.key_id == current else []
    if not count.is_known:
        notes.append("lost: no such key")
    elif count.lost:
        notes.append(f"{count.lost:,} lost: not sealed with this key's secret, or changed since")
    return f"{count.values:,} under {count.key_id}" + (f" ({', '.join(notes)})" if notes else "")


def _print(came: Rekeyed, seconds: float, *, as_json: bool) -> None:
    until = came.until and came.until.isoformat(timespec="seconds")
    if as_json:
        print(json.dumps({"dry_run": False, **asdict(came), "until": until, "seconds": seconds}))
        return
    print(f"{sum(came.rows.values()):,} rows moved to the key {came.key_id} in {seconds:.1f} s.")
    if sealed := sum(came.sealed.values()):
        print(f"{sealed:,} of them had something plain, which is sealed now and is read.")
    if any(came.plain.values()):
        told = ", ".join(f"{rows:,} of {table}" for table, rows in came.plain.items() if rows)
        print(f"Not sealed, and so not read, are {told}. {STORED_BEFORE}")
    if lost := sum(came.lost.values()):
        print(f"{lost:,} rows have something that can't be opened, and stay as they are. The log names them.")
    if not came.finished:
        print(
            "Rows are still written under another key, or kept locked: let all processes have the new key first, and run it again."
        )
    if came.expiring:
        print(
            f"{came.expiring:,} values of running conversations are under older keys, and expire by {until}: keep those keys until then."
        )
