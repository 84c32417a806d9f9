"""Check that what a manifest tells is where it tells."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
from kit.places import Places
from kit.search import Words, search
from psycopg import sql
from psycopg.types.string import TextLoader

from testkit.planting.manifest import Entry, Harmless, Planted
from testkit.planting.planting import sizes
from testkit.planting.savers import Cipher

BETWEEN = b"\0|\0"
"""Between two columns, so that no value is found across them."""


def threads_of_postgres(dsn: str, *, decrypted: bool = False) -> Iterator[tuple[str, bytes]]:
    """Yield `table of thread` and its rows, on demand with what `EncryptedSerializer` wrote in clear."""
    with psycopg.connect(dsn) as connection:
        for kind in ("json", "jsonb"):
            connection.adapters.register_loader(kind, TextLoader)  # as it is: some of it is too deep to be read
        for table in sizes(dsn):
            cursor = connection.execute(sql.SQL("SELECT * FROM {}").format(sql.SQL(table)))
            rows = map(_in_clear, cursor) if decrypted else cursor
            yield from _of_threads(table.strip('"'), rows, cursor.description)


def threads_of_sqlite(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield `table of thread` and its rows."""
    with closing(sqlite3.connect(path)) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            cursor = connection.execute(f'SELECT * FROM "{table}"')
            yield from _of_threads(table, cursor, cursor.description)


def missing(entries: Iterable[Entry], places: Places) -> list[tuple[Entry, str]]:
    """Return what is not where its entry says, with the table; of an encrypted value, where it is in clear."""
    places = list(places)
    known = {place for place, _ in places}
    sought = [entry for entry in entries if isinstance(entry, Planted | Harmless)]
    found = search(places, words_of(sought)).leaks
    wrong: list[tuple[Entry, str]] = []
    for number, entry in enumerate(sought):
        where = found.get(str(number), set())
        for table in entry.tables:
            thread = f"{table} of {entry.thread_id}"
            there = thread in where if thread in known else table in {place.partition(" of ")[0] for place in where}
            if there is entry.encrypted:
                wrong.append((entry, table))
    return wrong


def where_found(entries: Iterable[Entry], places: Places) -> list[Entry]:
    """Return `entries` with the tables alone in which they are, without those that are nowhere."""
    entries = list(entries)
    absent = {(id(entry), table) for entry, table in missing(entries, places)}
    kept: list[Entry] = []
    for entry in entries:
        if not isinstance(entry, Planted | Harmless):
            kept.append(entry)
        elif names := [table for table in entry.tables if (id(entry), table) not in absent]:
            kept.append(replace(entry, tables=names))
    return kept


def words_of(entries: Iterable[Planted | Harmless]) -> Words:
    """Return the values of entries to search for, each named by its place among them."""
    values: dict[str, str | bytes] = {}
    for number, entry in enumerate(entries):
        stored = entry.stored_hex if isinstance(entry, Planted) else None
        text = entry.text if isinstance(entry, Harmless) else entry.value
        values[str(number)] = text if stored is None else bytes.fromhex(stored)
    return Words(values=values)


def _of_threads(table: str, rows: Iterable[tuple[Any, ...]], columns: Any) -> Iterator[tuple[str, bytes]]:
    names = [column[0] for column in columns]
    at = names.index("thread_id") if "thread_id" in names else None
    parts: defaultdict[str, list[bytes]] = defaultdict(list)
    for row in rows:
        of = table if at is None else f"{table} of {row[at]}"
        parts[of] += [value if isinstance(value, bytes) else str(value).encode() for value in row]
    for of, values in parts.items():
        yield of, BETWEEN.join(values)


def _in_clear(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Decrypt the blob of a row, which is the column after the type."""
    for place, value in enumerate(row[:-1]):
        if isinstance(value, str) and value.endswith("+aes"):
            return (*row, Cipher().decrypt("aes", row[place + 1]))
    return row
