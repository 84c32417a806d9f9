"""Find items of the store without a question: those that fit a filter, what was written last first."""

from __future__ import annotations

import asyncio
from typing import Any, LiteralString

from langgraph.store.base import SearchOp
from psycopg import AsyncConnection
from psycopg.rows import DictRow

from discreet.storage.namespaces import span_of
from discreet.storage.sealing import FieldSealer
from discreet.storage.search_sql import Search
from discreet.storage.store_filters import FITS, Condition, filter_parameters, fits
from discreet.storage.store_items import ITEM_COLUMNS, VISIBLE, Row, value_of

_ITEMS: LiteralString = f"""
SELECT {ITEM_COLUMNS}
FROM discreet.person p
JOIN discreet.store_item i ON i.user_key = p.user_key
WHERE p.user_id >= %(low)s AND p.user_id < %(high)s AND {VISIBLE}
"""  # noqa: S608 - constants of ours

_NEWEST_FIRST: LiteralString = "ORDER BY i.updated_at DESC, i.user_key, i.item_key"
_PAGE: LiteralString = "LIMIT %(limit)s OFFSET %(offset)s"

CHUNK = 500
"""Sealed items that are opened at a time."""


def build_page(op: SearchOp, conditions: list[Condition]) -> Search:
    """Return the statement that finds the page of items that `op` asks for."""
    which: LiteralString = f"AND {FITS}" if conditions else ""
    parameters = _span(op) | {"limit": op.limit, "offset": op.offset} | filter_parameters(conditions)
    return Search(statement=f"{_ITEMS} {which} {_NEWEST_FIRST} {_PAGE}", parameters=parameters)


async def opened_fitting(
    conn: AsyncConnection[DictRow],
    op: SearchOp,
    conditions: list[Condition],
    sealer: FieldSealer,
    *,
    limit: int | None = None,
) -> list[Row]:
    """Return the items that fit, what was written last first, where values are sealed; the first `limit` of them.

    Raises:
        EncryptionError: One can't be opened.
    """

    def fitting(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [row for row in rows if fits(value_of(row, sealer), conditions)]

    found: list[Row] = []
    async with conn.transaction(), conn.cursor("items", binary=True) as cursor:
        await cursor.execute(f"{_ITEMS} {_NEWEST_FIRST}", _span(op))
        while (limit is None or len(found) < limit) and (rows := await cursor.fetchmany(CHUNK)):
            found += await asyncio.to_thread(fitting, rows)
    return found[:limit]


def _span(op: SearchOp) -> dict[str, Any]:
    low, high = span_of(op.namespace_prefix)
    return {"low": low, "high": high}
