"""Read an SQLite file: some rows at a time, in nobody's way, and nothing is written beside it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from discreet.errors import ImportSourceError

PAGE = 200
"""Rows in memory."""
_WAL = 2
_WAL_BYTE = 18
"""Where the file says that it has a write-ahead log, and how (SQLite docs, "Database File Format", 1.3)."""


class SqliteFile:
    """An SQLite file, open for reading. Texts come as bytes: one that is no UTF-8 must not end the run."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def count(self, table: str) -> int:
        """Return how many rows `table` has.

        Raises:
            ImportSourceError: It can't be read.
        """
        with _source_errors():
            found = await asyncio.to_thread(self._connection.execute, f"SELECT count(*) FROM {quoted(table)}")  # noqa: S608  # quoted
            return int(found.fetchone()[0])

    async def rows(self, query: str, place: Sequence[Any], *, columns: Sequence[str]) -> AsyncIterator[tuple[Any, ...]]:
        """Yield what `query` finds after `place`, the values of `columns`, which are the first of each row.

        Raises:
            ImportSourceError: It can't be read.
        """
        while True:
            params = dict(zip(columns, place, strict=True))
            with _source_errors():
                page = await asyncio.to_thread(self._page, query, params)
            for row in page:
                yield row
            if len(page) < PAGE:
                return
            place = page[-1][: len(columns)]

    def _page(self, query: str, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        # Read to its end at once: without a write-ahead log a query that is under way keeps others from writing.
        return self._connection.execute(f"{query} LIMIT {PAGE}", params).fetchall()


@asynccontextmanager
async def open_file(path: str) -> AsyncIterator[SqliteFile]:
    """Yield the file at `path`; with a write-ahead log one snapshot of it, since nobody waits for that.

    Raises:
        ImportSourceError: It can't be opened, or it was written to while it was read in a way that readers can't see.
    """
    file, has_log = await asyncio.to_thread(_looked_at, path)
    alone = has_log and not await asyncio.to_thread(Path(f"{file}-wal").exists)
    # Where a file has a write-ahead log and nobody has it open, SQLite would make two files beside it, and leave them.
    options = "mode=ro&immutable=1" if alone else "mode=ro"
    before = await asyncio.to_thread(file.stat)
    with _source_errors():
        # Each call is in some thread of a pool, one after the other.
        connection = sqlite3.connect(
            f"{file.as_uri()}?{options}", uri=True, check_same_thread=False, isolation_level=None
        )
    failed: ImportSourceError | None = None
    try:
        connection.text_factory = bytes
        if has_log:
            with _source_errors():
                connection.execute("BEGIN")
        yield SqliteFile(connection)
    except ImportSourceError as error:
        failed = error
    finally:
        connection.close()
    after = await asyncio.to_thread(file.stat)
    if alone and (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size):
        raise ImportSourceError(
            "The file was written to while it was read. Run the import again; what is there already is left as it is."
        )
    if failed is not None:
        raise failed


def quoted(name: str) -> str:
    """Return `name` as an identifier."""
    return '"' + name.replace('"', '""') + '"'


def _looked_at(path: str) -> tuple[Path, bool]:
    """Return the file, and whether it has a write-ahead log while somebody has it open."""
    file = Path(path).absolute()
    with file.open("rb") as opened:
        return file, opened.read(_WAL_BYTE + 1)[-1:] == bytes([_WAL])


@contextmanager
def _source_errors() -> Iterator[None]:
    """Raise `ImportSourceError` for what SQLite raises. Not chained: it may quote values."""
    try:
        yield
    except (sqlite3.Error, OverflowError) as error:
        raise ImportSourceError(
            f"The SQLite file can't be read, or has no such table ({type(error).__name__}). Name the table."
        ) from None
