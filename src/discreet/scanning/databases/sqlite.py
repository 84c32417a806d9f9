"""Rows of a SQLite file, such as LangGraph's SqliteSaver and other libraries keep."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote
from zlib import crc32

from discreet.errors import ScanError
from discreet.scanning.databases.base import INLINE_BYTES, PAGE_ROWS, Catalog, Column, Key, Refused, Row, Table
from discreet.scanning.profiles import OTHER, VERSIONS, profile_of
from discreet.scanning.values import MAX_VALUE_BYTES

_TABLES: Final = (
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
)
_COLUMNS: Final = "SELECT name, type, pk FROM pragma_table_xinfo(?) WHERE hidden = 0"
_MAGIC: Final = b"SQLite format 3\0"
_ROWID: Final = Column("rowid", "text", "INTEGER")


class SqliteDatabase:
    """The `Database` over a SQLite file."""

    def __init__(self, path: Path, *, writes: bool = False) -> None:
        """Open it: for reading only, in one transaction, unless it is to be written to.

        Raises:
            ScanError: It can't be opened.
        """
        self.name = path.name
        try:
            mode = "rw" if writes else "ro"
            self._conn = sqlite3.connect(
                f"file:{quote(str(path))}?mode={mode}", uri=True, isolation_level=None, timeout=10
            )
            self._conn.text_factory = _text
            if not writes:
                self._conn.execute("BEGIN")
        except sqlite3.Error as error:
            raise ScanError(f"{path} can't be opened ({error}).") from None

    @property
    def connection(self) -> sqlite3.Connection:
        """For statistics."""
        return self._conn

    def catalog(self, *, every: bool, only: Collection[str] = ()) -> Catalog:
        """Return its tables, see `Database`."""
        tables, others = [], []
        for (name,) in self._all(_TABLES):
            columns = self._all(_COLUMNS, [name])
            if {each[0] for each in columns} == VERSIONS:
                continue
            quoted = _quoted(name)
            rows = self._all(f"SELECT count(*) FROM {quoted}")[0][0]  # noqa: S608  # a quoted name of its catalog
            profile = profile_of([each[0] for each in columns], schema="", has_vectors=False)
            profile = profile or (OTHER if every or only else None)
            if profile is None or (only and name not in only):
                others.append((name, rows))
                continue
            keys = sorted((each for each in columns if each[2]), key=lambda each: each[2])
            kept = tuple(Column(each[0], "bytes", each[1]) for each in columns if profile.reads(each[0]))
            key = tuple(Column(each[0], "text", each[1] or "TEXT") for each in keys) or (_ROWID,)
            tables.append(Table("", name, kept, key, profile, self._size(name), rows))
        return Catalog(tables, others)

    def page(
        self, table: Table, after: Key | None, *, sample: float = 1.0, thread: str | None = None
    ) -> tuple[list[Row], Key | None]:
        """Return a page of rows, see `Database`. Of a sample, rows of other threads are read and left out."""
        keys = [_quoted(column.name) for column in table.key]
        conditions = [f"({', '.join(keys)}) > ({', '.join('?' for _ in keys)})"] if after is not None else []
        conditions += [f"{_quoted(table.profile.thread or '')} = ?"] if thread is not None else []
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        params = [*([] if after is None else _keys(table, after)), *([] if thread is None else [thread])]
        shown = ", ".join(
            f"CASE WHEN length(CAST({name} AS BLOB)) <= {INLINE_BYTES} THEN {name} END, length(CAST({name} AS BLOB))"
            for name in (_quoted(column.name) for column in table.columns)
        )
        statement = f"SELECT {', '.join([*keys, shown])} FROM {_quoted(table.name)} {where} ORDER BY {', '.join(keys)} LIMIT {PAGE_ROWS}"  # noqa: S608  # quoted names of its catalog
        found = self._all(statement, params)
        rows = [_row(table, each) for each in found]
        following = rows[-1].key if len(rows) == PAGE_ROWS else None
        return [row for row in rows if sample >= 1 or _is_sampled(table, row, sample)], following

    def value(self, table: Table, key: Key, column: Column) -> str | bytes | None:
        """Return one value, see `Database`."""
        name = _quoted(column.name)
        where = " AND ".join(f"{_quoted(each.name)} = ?" for each in table.key)
        statement = f"SELECT substr({name}, 1, {MAX_VALUE_BYTES + 1}) FROM {_quoted(table.name)} WHERE {where}"  # noqa: S608  # quoted names of its catalog
        found = self._all(statement, _keys(table, key))
        return _value(found[0][0]) if found else None

    def threads(self, tables: Sequence[Table], after: str | None) -> list[str]:
        """Return the next thread ids, see `Database`."""
        union = " UNION ".join(
            f"SELECT {name} AS id FROM {_quoted(table.name)} WHERE ?1 IS NULL OR {name} > ?1"  # noqa: S608  # quoted names of its catalog
            for table in tables
            for name in [_quoted(table.profile.thread or "")]
        )
        return [row[0] for row in self._all(f"{union} ORDER BY id LIMIT {PAGE_ROWS}", [after])]

    def delete(self, table: Table, keys: Sequence[Key]) -> int:
        """Delete rows, see `Database`."""
        where = " AND ".join(f"{_quoted(each.name)} = ?" for each in table.key)
        statement = f"DELETE FROM {_quoted(table.name)} WHERE {where}"  # noqa: S608  # quoted names of its catalog
        return sum(self._conn.execute(statement, _keys(table, key)).rowcount for key in keys)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Make the replacements within one transaction."""
        self._all("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._all("ROLLBACK")
            raise
        self._all("COMMIT")

    def replace(
        self, table: Table, key: Key, changes: Mapping[str, tuple[str | bytes | None, str | bytes | None]]
    ) -> bool:
        """Replace values of a row, see `Database`."""
        sets = ", ".join(f"{_quoted(name)} = ?" for name in changes)
        where = " AND ".join(
            [*(f"{_quoted(each.name)} = ?" for each in table.key), *(f"{_quoted(name)} IS ?" for name in changes)]
        )
        new, old = [after for _, after in changes.values()], [before for before, _ in changes.values()]
        statement = f"UPDATE {_quoted(table.name)} SET {sets} WHERE {where}"  # noqa: S608  # quoted names of its catalog
        try:
            return self._conn.execute(statement, [*new, *_keys(table, key), *old]).rowcount == 1
        except sqlite3.IntegrityError:
            raise Refused from None
        except sqlite3.Error as error:
            raise ScanError(f"{self.name} can't be written ({error}).") from None

    def close(self) -> None:
        """Close the file."""
        self._conn.close()

    def _size(self, name: str) -> int:
        try:
            return int(self._all("SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE name = ?", [name])[0][0])
        except ScanError:  # a build without that table
            return 0

    def _all(self, statement: str, params: list[Any] | None = None) -> list[Any]:
        try:
            return self._conn.execute(statement, params or []).fetchall()
        except sqlite3.Error as error:
            raise ScanError(f"{self.name} can't be read ({error}).") from None


def is_sqlite(path: Path) -> bool:
    """Return whether a file is one of SQLite's."""
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def _row(table: Table, found: tuple[Any, ...]) -> Row:
    count = len(table.key)
    values: dict[str, str | bytes | None] = {}
    large: dict[str, int] = {}
    for n, column in enumerate(table.columns):
        value, size = found[count + 2 * n : count + 2 * n + 2]
        if value is None and size is not None:
            large[column.name] = size
        else:
            values[column.name] = _value(value)
    return Row(tuple(str(each) for each in found[:count]), values, large)


def _value(found: Any) -> str | bytes | None:
    return found if found is None or isinstance(found, (str, bytes)) else str(found)


def _keys(table: Table, key: Key) -> list[Any]:
    return [int(each) if "INT" in column.type.upper() else each for column, each in zip(table.key, key, strict=True)]


def _is_sampled(table: Table, row: Row, sample: float) -> bool:
    names = [column.name for column in table.key]
    thread = table.profile.thread
    return in_sample(row.key[names.index(thread)] if thread in names else row.key[0], sample)


def in_sample(by: str, sample: float) -> bool:
    """Return whether what goes by this key is in a sample: a part of all keys."""
    return crc32(by.encode("utf-8", "replace")) % 10_000 < sample * 10_000


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
