"""Search all that a database keeps: every row, and the files of its server."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from leak_battery.plants import KEEP, PERSONAL, RAW, Plants

TABLES = """
SELECT n.nspname, c.relname
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'm') AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
"""
LONGEST_PLACE = 64
"""Bytes before a word's ending in which the rest of it is."""


@dataclass
class Found:
    """Which words were found, and where."""

    secrets: dict[str, set[str]] = field(default_factory=dict)
    kept: dict[str, set[str]] = field(default_factory=dict)

    def kept_in_rows(self) -> set[str]:
        return {word for word, where in self.kept.items() if any(place.startswith("table ") for place in where)}


def search(dsn: str, files: Callable[[], Iterable[Path]], plants: Plants) -> Found:
    """Find what is left of `plants` in the rows of the database and in `files` of its server: heap, WAL, log.

    Rows are read as bytes of their values, so that what is compressed in the heap is found too.
    """
    found = Found()
    encoded = plants.encoded_secrets()
    for where, data in _haystacks(dsn, files):
        for word in _words(data, plants.kept, (KEEP,)):
            found.kept.setdefault(word, set()).add(where)
        for word in _words(data, plants.secret, (RAW, PERSONAL)):
            found.secrets.setdefault(word, set()).add(where)
        for form, needle in encoded.items():
            if needle in data:
                found.secrets.setdefault(form, set()).add(where)
    return found


def _haystacks(dsn: str, files: Callable[[], Iterable[Path]]) -> Iterator[tuple[str, bytes]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for schema, table in connection.execute(TABLES).fetchall():
            yield f"table {table}", _content(connection, sql.Identifier(schema, table))
        connection.execute("CHECKPOINT")
    for path in files():  # once all is written
        with suppress(FileNotFoundError):  # the server removes what it no longer needs
            yield f"file {path}", path.read_bytes()


def _content(connection: psycopg.Connection[Any], table: sql.Identifier) -> bytes:
    copy = sql.SQL("COPY (SELECT * FROM {}) TO STDOUT (FORMAT binary)").format(table)
    with connection.cursor() as cursor, cursor.copy(copy) as rows:
        return b"".join(bytes(row) for row in rows)


def _words(data: bytes, ending: str, kinds: tuple[str, ...]) -> Iterator[str]:
    """Yield the words of these `kinds` with this `ending`, or the bare ending where the rest was cut off."""
    needle = ending.encode()
    kind = "|".join(kinds)
    pattern = re.compile(f"(?:{kind})(?:(?!{kind})[a-z])*$".encode())  # another word may stand right before it
    start = data.find(needle)
    while start >= 0:
        match = pattern.search(data[max(0, start - LONGEST_PLACE) : start])
        yield (match.group().decode() if match else "") + ending
        start = data.find(needle, start + len(needle))
