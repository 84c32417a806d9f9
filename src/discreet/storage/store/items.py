"""Items of the store: their rows, and the statements that read and keep them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, LiteralString
from uuid import UUID

from langgraph.store.base import Item, SearchItem
from psycopg import AsyncCursor

from discreet.access.user_keys import UserKeys
from discreet.storage.database.sealed_columns import ITEM_VALUE
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.store.namespaces import labels_of, span_of

Row = Mapping[str, Any]
"""A row with `ITEM_COLUMNS`."""

ITEM_COLUMNS: LiteralString = """
    i.user_key, i.item_key, i.key, i.value, i.sealed_value, i.created_at, i.updated_at, i.ttl_minutes
"""
"""What `item_of` needs, of `discreet.store_item i`. The namespace is the one that was asked for, by whose key the row was found."""

VISIBLE: LiteralString = "(i.expires_at IS NULL OR i.expires_at > now())"
"""Whether item `i` is there for readers: it is not from the moment it expires, whenever it is swept."""

_READ: LiteralString = f"""
SELECT {ITEM_COLUMNS}, w.place
FROM unnest(%(user_keys)s::uuid[], %(item_keys)s::uuid[]) WITH ORDINALITY AS w (user_key, item_key, place)
CROSS JOIN LATERAL (
    SELECT * FROM discreet.store_item WHERE user_key = w.user_key AND item_key = w.item_key {{of_one}} OFFSET 0
) i
WHERE {VISIBLE}
"""
"""OFFSET 0 keeps it a lookup for each item, whatever the planner thinks of the table's size."""

_READ_OF_MANY: LiteralString = _READ.format(of_one="")
_READ_OF_ONE: LiteralString = _READ.format(of_one="AND user_key = %(user_key)s")
"""Those of one namespace, for which a cluster asks one node."""

_PATHS: LiteralString = """
SELECT path FROM discreet.store_paths(%(low)s, %(high)s) AS n (path) ORDER BY path COLLATE "C"
"""
"""A function, which tells the labels of all namespaces and nobody's key."""

_TEXTS: LiteralString = """
SELECT coalesce(sum(memories), 0)::bigint AS texts FROM discreet.user_memories WHERE user_key = ANY (%(user_keys)s)
"""

_PUT: LiteralString = """
INSERT INTO discreet.store_item AS i (
    user_key, item_key, key, value, sealed_value, created_at, updated_at, ttl_minutes, expires_at
) VALUES (
    %(user_key)s, %(item_key)s, %(key)s, %(value)s::jsonb, %(sealed_value)s,
    coalesce(%(created_at)s::timestamptz, clock_timestamp()), coalesce(%(updated_at)s::timestamptz, clock_timestamp()),
    %(ttl)s::double precision,
    clock_timestamp() + make_interval(secs => 60 * %(ttl)s::double precision)
)
ON CONFLICT (user_key, item_key) DO UPDATE SET
    key = excluded.key, value = excluded.value, sealed_value = excluded.sealed_value,
    created_at = CASE WHEN i.expires_at <= excluded.updated_at THEN excluded.created_at ELSE i.created_at END,
    updated_at = excluded.updated_at, ttl_minutes = excluded.ttl_minutes, expires_at = excluded.expires_at
"""
"""An item that expired is gone, swept or not: what is put in its place is new."""

_DELETE: LiteralString = """
DELETE FROM discreet.store_item WHERE user_key = %(user_key)s AND item_key = ANY (%(item_keys)s)
"""

_REFRESH: LiteralString = """
WITH due AS (
    SELECT item_key, now() + make_interval(secs => 60 * ttl_minutes) AS until
    FROM discreet.store_item
    WHERE user_key = %(user_key)s AND item_key = ANY (%(item_keys)s) AND expires_at > now()
    FOR UPDATE SKIP LOCKED
)
UPDATE discreet.store_item i
SET expires_at = due.until
FROM due
WHERE i.user_key = %(user_key)s AND i.item_key = due.item_key
"""
"""A reader waits for nobody: an item that somebody writes or refreshes right now gets its time from them."""


async def read_items(cursor: AsyncCursor[dict[str, Any]], wanted: Sequence[tuple[UUID, UUID]]) -> list[Row | None]:
    """Return the row of each item, `wanted` by the keys of its namespace and its own; None where there is none."""
    namespaces = {user_key for user_key, _ in wanted}
    if not namespaces:
        return []
    statement = _READ_OF_ONE if len(namespaces) == 1 else _READ_OF_MANY
    await cursor.execute(statement, {**key_arrays(wanted), "user_key": next(iter(namespaces))})
    found: dict[int, Row] = {row["place"]: row for row in await cursor.fetchall()}
    return [found.get(place) for place in range(1, len(wanted) + 1)]


async def namespaces_below(
    cursor: AsyncCursor[dict[str, Any]], prefix: Iterable[str], keys: UserKeys
) -> dict[UUID, str]:
    """Return the paths of the namespaces with items that are `prefix` or below it, by their keys."""
    low, high = span_of(prefix)
    await cursor.execute(_PATHS, {"low": low, "high": high})
    return {keys.of_namespace(row["path"]): row["path"] for row in await cursor.fetchall()}


async def texts_of(cursor: AsyncCursor[dict[str, Any]], namespaces: Sequence[UUID]) -> int:
    """Return how many texts are in `namespaces`."""
    await cursor.execute(_TEXTS, {"user_keys": list(namespaces)})
    rows = await cursor.fetchall()
    return int(rows[0]["texts"])


async def put_items(cursor: AsyncCursor[dict[str, Any]], rows: Sequence[Row]) -> None:
    """Write `rows`. Their namespaces must be locked.

    A row has user_key, item_key, key, value or sealed_value, ttl in minutes or None, and created_at and updated_at or None: now.
    """
    await cursor.executemany(_PUT, rows)


async def delete_items(cursor: AsyncCursor[dict[str, Any]], user_key: UUID, item_keys: Sequence[UUID]) -> None:
    """Delete items of a namespace, which must be locked."""
    await cursor.execute(_DELETE, {"user_key": user_key, "item_keys": list(item_keys)})


async def refresh_items(cursor: AsyncCursor[dict[str, Any]], rows: Iterable[Row]) -> None:
    """Let those of the items that were read, and expire, live for their whole time again."""
    due: defaultdict[UUID, set[UUID]] = defaultdict(set)
    for row in rows:
        if row["ttl_minutes"] is not None:
            due[row["user_key"]].add(row["item_key"])
    for user_key, item_keys in due.items():
        await cursor.execute(_REFRESH, {"user_key": user_key, "item_keys": list(item_keys)})


def key_arrays(keys: Sequence[tuple[UUID, UUID]]) -> dict[str, Any]:
    """Return pairs of keys as the two parameters that statements unnest."""
    return {"user_keys": [user_key for user_key, _ in keys], "item_keys": [item_key for _, item_key in keys]}


def value_columns(value: str, user_key: UUID, item_key: UUID, key: str, sealer: FieldSealer) -> dict[str, Any]:
    """Return the two columns of a value, given as JSON, of which one is None."""
    plain, sealed = sealer.split(value, ITEM_VALUE, *ITEM_VALUE.at((user_key, item_key), {"key": key}))
    return {"value": plain, "sealed_value": sealed}


def value_of(row: Row, sealer: FieldSealer) -> dict[str, Any]:
    """Return the value of a row.

    Raises:
        EncryptionError: It can't be opened, see `FieldSealer.join`.
    """
    place = ITEM_VALUE.at((row["user_key"], row["item_key"]), row)
    value: dict[str, Any] = sealer.join_json(row["value"], row["sealed_value"], ITEM_VALUE, *place)
    return value


def item_of(row: Row, path: str, sealer: FieldSealer) -> Item:
    """Return the item of a row of the namespace of `path`."""
    return Item(
        value=value_of(row, sealer),
        key=row["key"],
        namespace=labels_of(path),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def found_item(row: Row, path: str, sealer: FieldSealer, score: float | None = None) -> SearchItem:
    """Return the item of a row, as a search gives it."""
    item = item_of(row, path, sealer)
    return SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at, score)
