"""Items of the store: their rows, and the statements that read and keep them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, LiteralString
from uuid import UUID

from langgraph.store.base import Item, SearchItem
from psycopg import AsyncCursor

from discreet.storage.namespaces import labels_of
from discreet.storage.sealing import FieldSealer

Row = Mapping[str, Any]
"""A row with `ITEM_COLUMNS`."""

ITEM_COLUMNS: LiteralString = """
    i.user_key, i.item_key, p.user_id AS path, i.key, i.value, i.sealed_value, i.created_at, i.updated_at, i.ttl_minutes
"""
"""What `item_of` needs, of `discreet.store_item i` and `discreet.person p`."""

VISIBLE: LiteralString = "(i.expires_at IS NULL OR i.expires_at > now())"
"""Whether item `i` is there for readers: it is not from the moment it expires, whenever it is swept."""

_READ: LiteralString = f"""
SELECT {ITEM_COLUMNS}, w.place
FROM unnest(%(paths)s::text[], %(item_keys)s::uuid[]) WITH ORDINALITY AS w (path, item_key, place)
JOIN discreet.person p ON p.user_id = w.path
JOIN discreet.store_item i ON i.user_key = p.user_key AND i.item_key = w.item_key
WHERE {VISIBLE}
"""  # noqa: S608 - constants of ours

_PUT: LiteralString = """
INSERT INTO discreet.store_item AS i (
    user_key, item_key, key, value, sealed_value, created_at, updated_at, ttl_minutes, expires_at
) VALUES (
    %(user_key)s, %(item_key)s, %(key)s, %(value)s::jsonb, %(sealed_value)s, clock_timestamp(),
    clock_timestamp(), %(ttl)s::double precision,
    clock_timestamp() + make_interval(secs => 60 * %(ttl)s::double precision)
)
ON CONFLICT (user_key, item_key) DO UPDATE SET
    value = excluded.value, sealed_value = excluded.sealed_value,
    created_at = CASE WHEN i.expires_at <= excluded.updated_at THEN excluded.created_at ELSE i.created_at END,
    updated_at = excluded.updated_at, ttl_minutes = excluded.ttl_minutes, expires_at = excluded.expires_at
"""
"""An item that expired is gone, swept or not: what is put in its place is new."""

_DELETE: LiteralString = """
DELETE FROM discreet.store_item
WHERE (user_key, item_key) IN (SELECT * FROM unnest(%(user_keys)s::bigint[], %(item_keys)s::uuid[]))
"""

_REFRESH: LiteralString = """
WITH due AS (
    SELECT user_key, item_key
    FROM discreet.store_item
    JOIN unnest(%(user_keys)s::bigint[], %(item_keys)s::uuid[]) AS r (user_key, item_key) USING (user_key, item_key)
    WHERE expires_at > now()
    FOR UPDATE OF store_item SKIP LOCKED
)
UPDATE discreet.store_item i
SET expires_at = now() + make_interval(secs => 60 * i.ttl_minutes)
FROM due
WHERE i.user_key = due.user_key AND i.item_key = due.item_key
"""
"""A reader waits for nobody: an item that somebody writes or refreshes right now gets its time from them."""


async def read_items(cursor: AsyncCursor[dict[str, Any]], wanted: Sequence[tuple[str, UUID]]) -> list[Row | None]:
    """Return the row of each item, `wanted` by path and key; None where there is none."""
    paths, item_keys = zip(*wanted, strict=True)
    await cursor.execute(_READ, {"paths": list(paths), "item_keys": list(item_keys)})
    found: dict[int, Row] = {row["place"]: row for row in await cursor.fetchall()}
    return [found.get(place) for place in range(1, len(wanted) + 1)]


async def put_items(cursor: AsyncCursor[dict[str, Any]], rows: Sequence[Row]) -> None:
    """Write `rows`. Their namespaces must be locked.

    A row has user_key, item_key, key, value or sealed_value, and ttl in minutes or None.
    """
    await cursor.executemany(_PUT, rows)


async def delete_items(cursor: AsyncCursor[dict[str, Any]], keys: Sequence[tuple[int, UUID]]) -> None:
    """Delete items, given by the keys of their namespace, which must be locked, and their own."""
    await cursor.execute(_DELETE, key_arrays(keys))


async def refresh_items(cursor: AsyncCursor[dict[str, Any]], rows: Iterable[Row]) -> None:
    """Let those of the items that were read, and expire, live for their whole time again."""
    keys = {(row["user_key"], row["item_key"]) for row in rows if row["ttl_minutes"] is not None}
    if keys:
        await cursor.execute(_REFRESH, key_arrays(list(keys)))


def key_arrays(keys: Sequence[tuple[int, UUID]]) -> dict[str, Any]:
    """Return pairs of keys as the two parameters that statements unnest."""
    return {"user_keys": [user_key for user_key, _ in keys], "item_keys": [item_key for _, item_key in keys]}


def value_columns(value: str, user_key: int, item_key: UUID, sealer: FieldSealer) -> dict[str, Any]:
    """Return the two columns of a value, given as JSON, of which one is None."""
    plain, sealed = sealer.split(value, *_owner(user_key, item_key))
    return {"value": plain, "sealed_value": sealed}


def value_of(row: Row, sealer: FieldSealer) -> dict[str, Any]:
    """Return the value of a row.

    Raises:
        EncryptionError: It is sealed, and its key is not known.
    """
    value: dict[str, Any] = row["value"]
    if row["sealed_value"] is not None:
        value = json.loads(sealer.join(None, row["sealed_value"], *_owner(row["user_key"], row["item_key"])))
    return value


def item_of(row: Row, sealer: FieldSealer) -> Item:
    """Return the item of a row."""
    return Item(
        value=value_of(row, sealer),
        key=row["key"],
        namespace=labels_of(row["path"]),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def found_item(row: Row, sealer: FieldSealer, score: float | None = None) -> SearchItem:
    """Return the item of a row, as a search gives it."""
    item = item_of(row, sealer)
    return SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at, score)


def _owner(user_key: int, item_key: UUID) -> tuple[str, ...]:
    """Return what a sealed value belongs to: moved to another item it can't be opened."""
    return "store", "value", str(user_key), str(item_key)
