"""Find items of the store without a question: those that fit a filter, what was written last first."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, LiteralString
from uuid import UUID

from langgraph.store.base import SearchOp
from psycopg import AsyncConnection
from psycopg.rows import DictRow

from discreet.errors import EncryptionError
from discreet.storage.database.sealing import FieldSealer, report_unreadable
from discreet.storage.memories.search import Search
from discreet.storage.store.filters import FITS, Condition, filter_parameters, fits
from discreet.storage.store.items import ITEM_COLUMNS, VISIBLE, Row, value_of

_ITEMS: LiteralString = f"""
SELECT {ITEM_COLUMNS}
FROM discreet.store_item i
WHERE {VISIBLE}
"""

_OF_ONE: LiteralString = "AND i.user_key = %(user_key)s"
_OF_SEVERAL: LiteralString = "AND i.user_key = ANY (%(user_keys)s)"

_NEWEST_FIRST: LiteralString = "ORDER BY i.updated_at DESC, i.user_key, i.item_key"
_PAGE: LiteralString = "LIMIT %(limit)s OFFSET %(offset)s"

CHUNK = 500
"""Sealed items that are opened at a time."""


def build_page(op: SearchOp, namespaces: Sequence[UUID], conditions: list[Condition]) -> Search:
    """Return the statement that finds the page of items that `op` asks for in these namespaces."""
    which: LiteralString = f"AND {FITS}" if conditions else ""
    parameters = _whose(namespaces) | {"limit": op.limit, "offset": op.offset} | filter_parameters(conditions)
    return Search(
        statement=f"{_ITEMS} {_scope(namespaces)} {which} {_NEWEST_FIRST} {_PAGE}",
        parameters=parameters,
    )


async def opened_fitting(
    conn: AsyncConnection[DictRow],
    namespaces: Sequence[UUID],
    conditions: list[Condition],
    sealer: FieldSealer,
    *,
    limit: int | None = None,
) -> list[Row]:
    """Return the items that fit, what was written last first, where values are sealed; the first `limit` of them.

    What can't be opened is left out, and the log names it.
    """
    unreadable: list[UUID] = []

    def does_fit(row: Row) -> bool:
        try:
            return fits(value_of(row, sealer), conditions)
        except EncryptionError:
            unreadable.append(row["item_key"])
            return False

    def fitting(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [row for row in rows if does_fit(row)]

    found: list[Row] = []
    async with conn.transaction(), conn.cursor("items", binary=True) as cursor:
        await cursor.execute(f"{_ITEMS} {_scope(namespaces)} {_NEWEST_FIRST}", _whose(namespaces))
        while (limit is None or len(found) < limit) and (rows := await cursor.fetchmany(CHUNK)):
            found += await asyncio.to_thread(fitting, rows)
    report_unreadable("item", unreadable)
    return found[:limit]


def _scope(namespaces: Sequence[UUID]) -> LiteralString:
    return _OF_ONE if len(namespaces) == 1 else _OF_SEVERAL


def _whose(namespaces: Sequence[UUID]) -> dict[str, Any]:
    return {"user_key": namespaces[0], "user_keys": list(namespaces)}
