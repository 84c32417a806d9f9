"""Show what a database holds, row by row, as a person can read it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from psycopg import AsyncConnection, sql
from psycopg.rows import dict_row

TABLES = """
SELECT n.nspname AS schema, c.relname AS name
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg_toast%'
ORDER BY n.nspname, c.relname
"""

HIDDEN = ("migrations", "checkpoint_migrations", "store_migrations", "vector_migrations")

MAX_CELL = 160


async def readable_rows(connection: AsyncConnection[Any]) -> AsyncIterator[tuple[str, Sequence[dict[str, str]]]]:
    """Yield each table that has rows as `schema.name` and its rows, every value as short text."""
    tables = await (await connection.cursor(row_factory=dict_row).execute(TABLES)).fetchall()
    for table in tables:
        if table["name"] in HIDDEN:
            continue
        query = sql.SQL("SELECT * FROM {}").format(sql.Identifier(table["schema"], table["name"]))
        rows = await (await connection.cursor(row_factory=dict_row).execute(query)).fetchall()
        if rows:
            yield f"{table['schema']}.{table['name']}", [_readable(row) for row in rows]


def _readable(row: dict[str, Any]) -> dict[str, str]:
    """Return a row's values as text; a blob of LangGraph is decoded by the type that stands beside it."""
    values = dict(row)
    if isinstance(values.get("blob"), bytes) and values.get("type"):
        values["blob"] = JsonPlusSerializer().loads_typed((values.pop("type"), values["blob"]))
    return {name: _short(value) for name, value in values.items() if value is not None}


def _short(value: Any) -> str:
    if isinstance(value, list) and value and all(isinstance(item, float) for item in value):
        return f"{len(value)} numbers"
    text = " ".join(str(value).split())
    return text if len(text) <= MAX_CELL else f"{text[:MAX_CELL]}… ({len(text):,} characters)"
