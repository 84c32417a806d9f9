"""All that a product may have left somewhere, as pairs of a place and the bytes there.

Each of these fails where there is nothing to read: a search of nothing proves nothing.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql

Places = Iterable[tuple[str, bytes]]

TABLES: Final = """
SELECT n.nspname, c.relname
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'm') AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
ORDER BY 1, 2
"""
BOOKKEEPING: Final = frozenset({"checkpoint_migrations", "migrations", "corpus"})
"""Tables that have rows as soon as they are made: they are read, but are nothing that somebody stored."""
LARGE_OBJECTS: Final = "SELECT lo_get(oid) FROM pg_largeobject_metadata"
EMPTY_COPY: Final = 21
"""Bytes of a binary COPY without rows: signature, flags, length of the header, trailer (PostgreSQL: COPY, Binary Format)."""
BYTEA: Final = re.compile(rb"\\\\x((?:[0-9a-f]{2})+)")
"""How COPY writes bytes as text."""
ESCAPED: Final = re.compile(r"\\+u([0-9a-fA-F]{4})")
"""A letter as JSON may write it."""
COLOURS: Final = re.compile(rb"\x1b\[[0-9;]*m")
"""What may stand amidst a value in a coloured log."""


TALKATIVE: Final = (
    "log_min_messages = 'info'",
    "log_statement = 'all'",
    "log_min_error_statement = 'error'",
    "log_error_verbosity = 'default'",
    "log_parameter_max_length = -1",
    "log_parameter_max_length_on_error = -1",
)
"""Settings with which PostgreSQL writes into its log whatever it is told, so that nothing passes it unseen."""


class NothingThereError(AssertionError):
    """There is nothing to search where something must be."""


def rows(dsn: str, *, only: Iterable[str] | None = None, may_be_empty: bool = False) -> Iterator[tuple[str, bytes]]:
    """Yield the rows of each table of all schemas, and large objects: as bytes of their values, and as text.

    What is compressed on disk is found in the first; numbers, UUIDs and the like in the second. Of tables that
    `only` names are read those alone; else all of it is in the server's files afterwards. What stands in the catalogues,
    such as comments and the source of functions, is in the files alone.

    Raises:
        NothingThereError: The database has no row that somebody stored, or no table that `only` names.
    """
    size = 0
    with psycopg.connect(dsn, autocommit=True) as connection:
        tables = connection.execute(TABLES).fetchall()
        if missing := set(only or ()) - {table for _, table in tables}:
            raise NothingThereError(f"no table {', '.join(sorted(missing))}")
        for schema, table in tables:
            if only is None or table in only:
                source = sql.SQL("COPY (SELECT * FROM {}) TO STDOUT").format(sql.Identifier(schema, table))
                binary = _copied(connection, source + sql.SQL(" (FORMAT binary)"))
                size += len(binary) - EMPTY_COPY if table not in BOOKKEEPING else 0
                text = BYTEA.sub(lambda match: bytes.fromhex(match[1].decode()), _copied(connection, source))
                yield f"table {table}", binary + b"\n" + text
        if only is None:
            for (content,) in connection.execute(LARGE_OBJECTS).fetchall():
                size += len(content)
                yield "table pg_largeobject", content
            connection.execute("CHECKPOINT")
    if not size and not may_be_empty:
        raise NothingThereError(f"none of {len(tables)} tables has a row")


def _copied(connection: psycopg.Connection[Any], statement: sql.Composed) -> bytes:
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        return b"".join(bytes(block) for block in copy)


def text_of(data: bytes) -> str:
    """Return rows or files as text that a person could read, escapes decoded; for what is no one value."""
    return ESCAPED.sub(lambda match: chr(int(match[1], 16)), data.decode(errors="replace"))


def snapshot(dsn: str, *, written: bool = False) -> dict[str, list[str]]:
    """Return the rows of each table as text, to compare them with those of another time.

    With `written` a row that was written anew is another, whatever is in it.
    """
    shown = sql.SQL("xmin::text || ctid::text || t::text" if written else "t::text")
    query = sql.SQL("SELECT {} FROM {} t")
    with psycopg.connect(dsn) as connection:
        return {
            f"{schema}.{table}": sorted(
                row for (row,) in connection.execute(query.format(shown, sql.Identifier(schema, table))).fetchall()
            )
            for schema, table in connection.execute(TABLES).fetchall()
        }


def make_talkative(dsn: str) -> str:
    """Have PostgreSQL log all that it is told from now on in this database; return `dsn`."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for setting in TALKATIVE:
            database = sql.Identifier(connection.info.dbname)
            connection.execute(sql.SQL("ALTER DATABASE {} SET {}").format(database, sql.SQL(setting)))
    return dsn


def folder_of(dsn: str) -> Path:
    """Return the folder of the server's files: heap, write-ahead log, log. All rows are in them then."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        # Not its `data_directory`: the embedded server names its folder by a file descriptor of its own.
        return Path(f"/proc/{connection.info.backend_pid}/cwd").readlink().parent


def files(folder: Path, paths: Iterable[Path] | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield each file below `folder`, or of `paths` there, without the zeros that PostgreSQL fills its files up with.

    Raises:
        NothingThereError: There is no file with anything in it.
        OSError: A file can't be read.
    """
    size = 0
    for path in sorted(folder.rglob("*") if paths is None else paths):
        with suppress(FileNotFoundError):  # a running server removes what it no longer needs
            if path.is_file() and not path.is_symlink() and "__pycache__" not in path.parts:
                data = path.read_bytes().rstrip(b"\0")
                size += len(data)
                yield str(path.relative_to(folder)), data
    if not size:
        raise NothingThereError(f"no file in {folder.name}")


CLOCK_STEP: Final = 1_000_000_000
"""Nanoseconds, and more than any file system's clock needs to go on: a file may be written twice within one step."""


class ChangedFiles:
    """The files of a server that were written since this was made: a value that is planted later can be in no other."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._folder = folder_of(dsn)
        self._before = self._stamps()
        self._recently = max(written for written, _, _ in self._before.values()) - CLOCK_STEP

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        folder_of(self._dsn)
        now = self._stamps()
        paths = [path for path, is_at in now.items() if is_at != self._before.get(path) or is_at[0] >= self._recently]
        return ((f"file {place}", data) for place, data in files(self._folder, paths))

    def _stamps(self) -> dict[Path, tuple[int, int, int]]:
        """Return of each file when it was written, how long it is and its number."""
        stamps = {}
        for place, _, names in os.walk(self._folder):
            for path in (Path(place, name) for name in names):
                with suppress(FileNotFoundError):  # as above
                    found = path.lstat()
                    stamps[path] = (found.st_mtime_ns, found.st_size, found.st_ino)
        return stamps


def redis_keys(client: Any, *, may_be_empty: bool = False) -> Iterator[tuple[str, bytes]]:
    """Yield each key of a Redis, or of all nodes of a cluster, with what it holds: as it is kept, and uncompressed.

    Raises:
        NothingThereError: There is no key.
    """
    keys = list(client.scan_iter())
    yield "redis, its keys", b"\n".join(keys)
    for key in keys:
        yield f"redis {key.decode(errors='replace')}", key + (client.dump(key) or b"") + _value(client, key)
    if not keys and not may_be_empty:
        raise NothingThereError("Redis has no key")


def _value(client: Any, key: bytes) -> bytes:
    reads = {
        b"string": client.get,
        b"list": lambda key: client.lrange(key, 0, -1),
        b"hash": client.hgetall,
        b"stream": client.xrange,
        b"zset": lambda key: client.zrange(key, 0, -1, withscores=True),
        b"set": client.smembers,
        b"none": lambda _: b"",  # it has just expired
    }
    return b"\n".join(_flat(reads[client.type(key)](key)))


def _flat(value: Any) -> Iterator[bytes]:
    if isinstance(value, dict):
        value = value.items()
    if isinstance(value, bytes):
        yield value
    elif isinstance(value, Iterable) and not isinstance(value, str):
        for each in value:
            yield from _flat(each)
    elif value is not None:
        yield str(value).encode()


def sqlite_rows(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the rows of each table of a SQLite file.

    Raises:
        NothingThereError: It has no table, or no row.
    """
    size = 0
    with closing(sqlite3.connect(path)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            data = b"\0|\0".join(_flat(list(connection.execute(f'SELECT * FROM "{table}"'))))
            size += len(data)
            yield f"table {table}", data
    if not size:
        raise NothingThereError(f"none of {len(tables)} tables has a row")


def log(name: str, data: bytes | str) -> Iterator[tuple[str, bytes]]:
    """Yield a log, or anything that was said, as it is and without colours.

    Raises:
        NothingThereError: It is empty.
    """
    data = data.encode(errors="replace") if isinstance(data, str) else data
    if not data:
        raise NothingThereError(f"{name} is empty")
    yield name, data
    if b"\x1b[" in data:
        yield name, COLOURS.sub(b"", data)
