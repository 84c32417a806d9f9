"""Search raw rows and files for what was planted, byte by byte, without understanding any of it."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql
from psycopg.types.string import TextLoader

from testkit.planting.manifest import Entry, Harmless, Planted
from testkit.planting.planting import sizes
from testkit.planting.savers import Cipher

Haystack = Mapping[str | None, bytes]
"""What the rows of a thread are made of, by its id; under None what all rows are made of."""

BETWEEN: Final = b"\0|\0"
"""Between two columns, so that no value is found across them."""


def rows_of_postgres(dsn: str, *, decrypted: bool = False) -> dict[str, Haystack]:
    """Return the contents of all tables by their names, on demand with what `EncryptedSerializer` wrote in clear."""
    with psycopg.connect(dsn) as connection:
        for kind in ("json", "jsonb"):
            connection.adapters.register_loader(kind, TextLoader)  # as it is: some of it is too deep to be read
        tables = {}
        for table in sizes(dsn):
            cursor = connection.execute(sql.SQL("SELECT * FROM {}").format(sql.SQL(table)))
            rows = map(_in_clear, cursor) if decrypted else cursor
            tables[table.strip('"')] = _haystack(rows, cursor.description)
    return tables


def rows_of_sqlite(path: Path) -> dict[str, Haystack]:
    """Return the contents of all tables of a file by their names."""
    with closing(sqlite3.connect(path)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        tables = {}
        for (table,) in names:
            cursor = connection.execute(f'SELECT * FROM "{table}"')
            tables[table] = _haystack(cursor, cursor.description)
    return tables


def contents_of_folder(folder: Path) -> dict[str, Haystack]:
    """Return the contents of all files by their names."""
    return {path.name: {None: path.read_bytes()} for path in folder.iterdir()}


def missing(entries: Iterable[Entry], tables: Mapping[str, Haystack]) -> list[tuple[Entry, str]]:
    """Return what is not where its entry says, with the table; of an encrypted value, where it is in clear."""
    found: list[tuple[Entry, str]] = []
    for entry in entries:
        if not isinstance(entry, Planted | Harmless):
            continue
        needles = _needles(entry)
        for table in entry.tables:
            haystack = tables[table]
            rows = haystack.get(entry.thread_id) or haystack[None]
            if any(needle in rows for needle in needles) is entry.encrypted:
                found.append((entry, table))
    return found


def left(entries: Iterable[Entry], tables: Mapping[str, Haystack]) -> list[tuple[Planted, str]]:
    """Return the values that are anywhere, with the table, as after a scrub none should be."""
    planted = [(entry, _needles(entry)) for entry in entries if isinstance(entry, Planted)]
    return [
        (entry, table)
        for table, rows in tables.items()
        for entry, needles in planted
        if any(needle in rows[None] for needle in needles)
    ]


def where_found(entries: Iterable[Entry], tables: Mapping[str, Haystack]) -> list[Entry]:
    """Return `entries` with the tables alone in which they are, without those that are nowhere."""
    entries = list(entries)
    absent = {(id(entry), table) for entry, table in missing(entries, tables)}
    kept: list[Entry] = []
    for entry in entries:
        if not isinstance(entry, Planted | Harmless):
            kept.append(entry)
        elif names := [table for table in entry.tables if (id(entry), table) not in absent]:
            kept.append(replace(entry, tables=names))
    return kept


def _needles(entry: Planted | Harmless) -> list[bytes]:
    """Return the forms in which an entry may stand in a row."""
    if isinstance(entry, Planted) and entry.stored_hex is not None:
        return [bytes.fromhex(entry.stored_hex)]
    text = entry.text if isinstance(entry, Harmless) else entry.value
    utf_8 = text.encode()
    in_json = "".join(char if ord(char) < 128 else f"\\u{ord(char):04x}" for char in text).encode()
    in_old_pickle = utf_8.decode("latin-1").encode()  # bytes are text there in protocol 2
    return list(dict.fromkeys((utf_8, in_json, in_old_pickle)))


def _haystack(rows: Iterable[tuple[Any, ...]], columns: Any) -> Haystack:
    names = [column[0] for column in columns]
    place = names.index("thread_id") if "thread_id" in names else None
    parts: defaultdict[str | None, list[bytes]] = defaultdict(list)
    for row in rows:
        raw = BETWEEN.join(_raw(value) for value in row) + BETWEEN
        parts[None].append(raw)
        if place is not None:
            parts[str(row[place])].append(raw)
    parts[None] = parts[None]  # also of a table without rows
    return {thread: b"".join(each) for thread, each in parts.items()}


def _in_clear(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Decrypt the blob of a row, which is the column after the type."""
    for place, value in enumerate(row[:-1]):
        if isinstance(value, str) and value.endswith("+aes"):
            return (*row, Cipher().decrypt("aes", row[place + 1]))
    return row


def _raw(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()
