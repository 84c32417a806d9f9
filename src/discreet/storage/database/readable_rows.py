"""Show what a database holds, row by row, as a person can read it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from psycopg import AsyncConnection, sql
from psycopg.rows import dict_row

TABLES = """
SELECT n.nspname AS schema, c.relname AS name
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg_toast%%'
  AND (%(user_key)s::uuid IS NULL OR EXISTS (
    SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'user_key' AND NOT a.attisdropped
  ))
ORDER BY n.nspname, c.relname
"""

MAX_ROWS = 4
MAX_CHARS = 120


@dataclass(frozen=True)
class Table:
    """One table and its newest rows as short text."""

    name: str
    count: int
    rows: list[dict[str, str]]


async def readable_tables(
    connection: AsyncConnection[Any],
    *,
    user_key: UUID | None = None,
    max_rows: int = MAX_ROWS,
    max_chars: int = MAX_CHARS,
) -> AsyncIterator[Table]:
    """Yield each table that has rows, with its last `max_rows`; values are cut after `max_chars`.

    With `user_key` those of one user alone, whom `UserKeys` knows by it, of all tables that say whose a row is.
    """
    cursor = connection.cursor(row_factory=dict_row)
    for table in await (await cursor.execute(TABLES, {"user_key": user_key})).fetchall():
        query = sql.SQL("SELECT * FROM {}").format(sql.Identifier(table["schema"], table["name"]))
        if user_key is not None:
            query += sql.SQL(" WHERE user_key = {}").format(user_key)
        rows = await (await cursor.execute(query)).fetchall()
        if rows:
            readable = [_readable(row, max_chars) for row in rows[-max_rows:]]
            yield Table(f"{table['schema']}.{table['name']}", len(rows), readable)


def _readable(row: dict[str, Any], max_chars: int) -> dict[str, str]:
    """Return a row's values as text; a blob of LangGraph is decoded by the type that stands beside it."""
    values = dict(row)
    if isinstance(values.get("blob"), bytes) and values.get("type"):
        values["blob"] = JsonPlusSerializer().loads_typed((values.pop("type"), values["blob"]))
    shown = {name: _short(value, max_chars) for name, value in values.items() if value not in (None, "", [], {})}
    return {name: text for name, text in shown.items() if text}


def _short(value: Any, max_chars: int) -> str:
    text = _text(value)
    return text if len(text) <= max_chars else f"{text[:max_chars]}… ({len(text):,} characters)"


def _text(value: Any) -> str:
    match value:
        case BaseMessage():
            return f"{value.type}: {value.text}"
        case list():
            return " | ".join(_text(item) for item in value)
        case dict():
            return ", ".join(f"{name}={_text(item)}" for name, item in value.items())
    text = " ".join(str(value).split())
    is_vector = text.startswith(("[", "{")) and not any(char.isalpha() for char in text.replace("e-", ""))
    return f"a vector of {text.count(',') + 1} numbers" if is_vector else text
