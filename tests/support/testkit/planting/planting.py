"""Plant a whole database."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg import sql

from testkit.planting.dev import plant_dev
from testkit.planting.manifest import Book, Entry
from testkit.planting.neighbours import plant_neighbours
from testkit.planting.postgres import opened_saver, plant_in_processes, plant_threads
from testkit.planting.servers import Shape, plant_server
from testkit.planting.sqlite import plant_sqlite, plant_sqlite_store
from testkit.planting.stores import plant_store

TABLES: LiteralString = """
SELECT c.oid::regclass::text, c.relname, n.nspname, pg_total_relation_size(c.oid) FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1
"""

ROWS_OF_A_BOOK = 8

SHARE = 4
"""For so many threads there is one item of the store, one thread of a server, one row of each neighbour."""


async def plant_database(
    dsn: str, *, threads: int, seed: int, processes: int = 1, vectors: bool = True, shape: Shape = "platform"
) -> list[Entry]:
    """Fill a database with threads of all kinds, a store, tables of a server and of other libraries."""
    async with opened_saver(dsn):
        pass
    if processes == 1:
        entries = await plant_threads(dsn, range(threads), seed=seed)
    else:
        entries = plant_in_processes(dsn, threads, seed=seed, processes=processes)
    numbers = count(threads)
    entries += plant_beside(dsn, threads // SHARE + 1, numbers, seed=seed, shape=shape)
    for rows in _parts(threads // SHARE + 1):
        entries += await plant_store(dsn, Book(next(numbers), seed), items=rows, vectors=vectors)
    return entries


def plant_beside(dsn: str, rows: int, numbers: Iterator[int], *, seed: int, shape: Shape) -> list[Entry]:
    """Fill the tables that are no LangGraph's: so many threads of a server and rows of each neighbour."""
    entries: list[Entry] = []
    with psycopg.connect(dsn) as connection:
        for part in _parts(rows):
            entries += plant_server(connection, Book(next(numbers), seed), shape=shape, threads=part)
            entries += plant_neighbours(connection, Book(next(numbers), seed), rows=part)
    return entries


def _parts(rows: int) -> Iterator[int]:
    """Divide rows among books."""
    for part in range(0, rows, ROWS_OF_A_BOOK):
        yield min(ROWS_OF_A_BOOK, rows - part)


async def plant_file(path: Path, *, threads: int, seed: int) -> list[Entry]:
    """Fill a SQLite file with threads and a store."""
    entries = await plant_sqlite(path, range(threads), seed=seed)
    return entries + plant_sqlite_store(path, Book(threads, seed), items=max(1, threads // SHARE))


def sizes(dsn: str) -> dict[str, tuple[int, int]]:
    """Return rows and bytes (with indexes and what is stored beside) of each table."""
    with psycopg.connect(dsn) as connection:
        found: dict[str, tuple[int, int]] = {}
        for label, table, schema, size in connection.execute(TABLES).fetchall():
            counted: Any = connection.execute(
                sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(schema, table))
            ).fetchone()
            found[label] = (counted[0], size)
    return found


__all__ = ["plant_beside", "plant_database", "plant_dev", "plant_file", "sizes"]
