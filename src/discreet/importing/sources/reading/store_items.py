"""Items of a LangGraph store as they lie there, with nothing checked: in PostgreSQL, in an SQLite file, in a dump."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Protocol

from psycopg import sql

from discreet.errors import ImportSourceError
from discreet.importing.sources.reading.json_files import JsonFile
from discreet.importing.sources.reading.postgres import PostgresTable
from discreet.importing.sources.reading.sqlite import SqliteFile

_POSTGRES = sql.SQL("""
SELECT
    prefix::text, key::text, value::text, to_json(created_at) #>> '{{}}', to_json(updated_at) #>> '{{}}',
    to_jsonb(t) ->> 'ttl_minutes', to_jsonb(t) ->> 'expires_at'  -- older stores lack the columns
FROM {table} AS t
WHERE %(prefix)s::text IS NULL OR (prefix, key) > (%(prefix)s::text, %(key)s::text)
ORDER BY prefix, key
""")

_COLUMNS = ("namespace", "key", "value", "created_at", "updated_at", "ttl_minutes", "expires_at")
"""As `Item.dict()` names them, and what a table has beside them."""

_SQLITE = """
SELECT prefix, key, value, created_at, updated_at, ttl_minutes, expires_at
FROM store
WHERE :prefix IS NULL OR (prefix, key) > (CAST(:prefix AS TEXT), CAST(:key AS TEXT))
ORDER BY prefix, key
"""


@dataclass(frozen=True, kw_only=True)
class StoredItem:
    """An item as it is stored, with nothing checked."""

    mark: str
    """As of `SourceRow`."""
    raw: bytes | None
    """As of `BadRow`."""
    item: Any
    """A mapping with what `Item.dict()` has, or what returns one. A namespace and a value that are text, or its bytes, are yet to be read."""


class StoredItems(Protocol):
    """Items in the order of their marks."""

    async def count(self) -> int:
        """Return how many there are."""
        ...

    def items(self, after: str | None) -> AsyncIterator[StoredItem]:
        """Yield those that come after the mark `after`."""
        ...


def _stored(row: tuple[Any, ...]) -> StoredItem:
    prefix, key, value = row[:3]
    # The mark is the primary key itself, which alone finds the place again. It may name a user; marks are kept in a
    # file of mode 0600.
    mark = json.dumps(
        [part.decode(errors="surrogateescape") if isinstance(part, bytes) else part for part in (prefix, key)]
    )
    item = dict(zip(_COLUMNS, row, strict=True))
    return StoredItem(mark=mark, raw=value if isinstance(value, bytes) else None, item=item)


def _place(after: str | None) -> tuple[str | None, str | None]:
    if after is None:
        return None, None
    try:
        prefix, key = json.loads(after)
    except ValueError:
        raise ImportSourceError("The mark is of another source. Start the import anew.") from None
    return str(prefix), str(key)


@dataclass(frozen=True)
class PostgresItems:
    """Rows of a table `store`."""

    table: PostgresTable

    async def count(self) -> int:
        """As of `StoredItems`."""
        return await self.table.count()

    async def items(self, after: str | None) -> AsyncIterator[StoredItem]:
        """As of `StoredItems`."""
        prefix, key = _place(after)
        async for row in self.table.rows(_POSTGRES, {"prefix": prefix, "key": key}):
            yield _stored(row)


@dataclass(frozen=True)
class SqliteItems:
    """Rows of the table `store` of a file."""

    file: SqliteFile

    async def count(self) -> int:
        """As of `StoredItems`."""
        return await self.file.count("store")

    async def items(self, after: str | None) -> AsyncIterator[StoredItem]:
        """As of `StoredItems`."""
        place = [part and part.encode(errors="surrogateescape") for part in _place(after)]
        async for row in self.file.rows(_SQLITE, place, columns=("prefix", "key")):
            yield _stored(row)


@dataclass(frozen=True)
class DumpedItems:
    """What a file has of `item.dict()`."""

    file: JsonFile

    async def count(self) -> int:
        """As of `StoredItems`."""
        return await self.file.count()

    async def items(self, after: str | None) -> AsyncIterator[StoredItem]:
        """As of `StoredItems`."""
        async for row in self.file.rows(after=after):
            yield StoredItem(mark=row.mark, raw=row.raw, item=row.value)
