"""Show what a database holds, row by row, as a person can read it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from psycopg import AsyncConnection, sql
from psycopg.rows import dict_row

TABLES = """
SELECT n.nspname AS schema, c.relname AS name
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg_toast%'
ORDER BY n.nspname, c.relname
"""

MAX_ROWS = 4
MAX_CELL = 120


@dataclass(frozen=True)
class Table:
    """One table and its newest rows as short text."""

    name: str
    count: int
    rows: list[dict[str, str]]


async def readable_tables(connection: AsyncConnection[Any]) -> AsyncIterator[Table]:
    """Yield each table that has rows, with its last few rows."""
    cursor = connection.cursor(row_factory=dict_row)
    for table in await (await cursor.execute(TABLES)).fetchall():
        query = sql.SQL("SELECT * FROM {}").format(sql.Identifier(table["schema"], table["name"]))
        rows = await (await cursor.execute(query)).fetchall()
        if rows:
            readable = [_readable(row) for row in rows[-MAX_ROWS:]]
            yield Table(f"{table['schema']}.{table['name']}", len(rows), readable)


def _readable(row: dict[str, Any]) -> dict[str, str]:
    """Return a row's values as text; a blob of LangGraph is decoded by the type that stands beside it."""
    values = dict(row)
    if isinstance(values.get("blob"), bytes) and values.get("type"):
        values["blob"] = JsonPlusSerializer().loads_typed((values.pop("type"), values["blob"]))
    shown = {name: _short(value) for name, value in values.items() if value not in (None, "", [], {})}
    return {name: text for name, text in shown.items() if text}


def _short(value: Any) -> str:
    text = _text(value)
    return text if len(text) <= MAX_CELL else f"{text[:MAX_CELL]}… ({len(text):,} characters)"


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
