"""Plant threads and items in a SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import aiosqlite
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.sqlite import SqliteStore

from testkit.planting.manifest import SQLITE, Book, Entry
from testkit.planting.registry import SCENARIOS
from testkit.planting.savers import serializer
from testkit.planting.stores import planted_item
from testkit.planting.threads import plant_thread


@asynccontextmanager
async def opened_sqlite_saver(path: Path) -> AsyncIterator[AsyncSqliteSaver]:
    """Open the stock saver on a file."""
    async with aiosqlite.connect(path) as connection:
        saver = AsyncSqliteSaver(connection, serde=serializer("sqlite"))
        await saver.setup()
        yield saver


async def plant_sqlite(path: Path, numbers: Sequence[int], *, seed: int) -> list[Entry]:
    """Plant threads, half of them through the synchronous saver; those that need another serializer are left out."""
    names = [name for name, each in SCENARIOS.items() if each.serializer is None]
    entries: list[Entry] = []
    async with opened_sqlite_saver(path) as asynchronous:
        # An asynchronous run may use it on any thread; it does one thing at a time.
        with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
            savers: list[BaseCheckpointSaver[Any]] = [asynchronous, SqliteSaver(connection)]
            for number in numbers:
                name = names[number % len(names)]
                saver = savers[number // len(names) % 2]
                entries += await plant_thread(
                    number, _always(saver), seed=seed, graph_name=name, place="sqlite", tables=SQLITE
                )
    return entries


def _always(saver: BaseCheckpointSaver[Any]) -> Callable[[str], BaseCheckpointSaver[Any]]:
    return lambda _: saver


def plant_sqlite_store(path: Path, book: Book, *, items: int) -> list[Entry]:
    """Plant items of a store in the same file."""
    with SqliteStore.from_conn_string(str(path)) as store:
        store.setup()
        for _ in range(items):
            namespace, key, value = planted_item(book)
            store.put(namespace, key, value)
    return book.entries
