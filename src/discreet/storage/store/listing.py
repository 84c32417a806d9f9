"""List the namespaces of the store that hold items."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any, LiteralString

from langgraph.store.base import ListNamespacesOp
from psycopg import AsyncCursor
from psycopg.types.json import Jsonb

from discreet.storage.database.connecting.pool import Pool
from discreet.storage.store.items import VISIBLE
from discreet.storage.store.namespaces import labels_of, span_of

ANY_LABEL = "*"

_LIST: LiteralString = """
SELECT DISTINCT chr(31) || array_to_string(n.labels[:coalesce(%(max_depth)s::integer, cardinality(n.labels))], chr(31))
    || chr(31) AS path
FROM discreet.store_paths(%(low)s, %(high)s) AS s (path)
CROSS JOIN LATERAL (SELECT string_to_array(btrim(s.path COLLATE "C", chr(31)), chr(31)) AS labels) n
WHERE cardinality(n.labels) >= %(least_depth)s
  AND NOT EXISTS (
      SELECT
      FROM jsonb_to_recordset(%(conditions)s::jsonb) AS c (path jsonb, at_end boolean)
      CROSS JOIN LATERAL jsonb_array_elements_text(c.path) WITH ORDINALITY AS w (label, place)
      WHERE w.label <> '*' AND w.label <> n.labels[
          (w.place + CASE WHEN c.at_end THEN cardinality(n.labels) - jsonb_array_length(c.path) ELSE 0 END)::integer
      ]
  )
  AND s.path <> ALL (%(hidden)s::text[])
ORDER BY path
LIMIT %(limit)s OFFSET %(offset)s
"""
"""U+001F sorts before all that labels hold, so that the order of paths is that of their labels."""


_WITH_EXPIRED: LiteralString = "SELECT DISTINCT user_key FROM discreet.store_item WHERE expires_at <= now()"

_WITH_VISIBLE: LiteralString = f"""
SELECT DISTINCT i.user_key FROM discreet.store_item i WHERE i.user_key = ANY (%(namespaces)s) AND {VISIBLE}
"""

_PATHS_OF: LiteralString = "SELECT path FROM discreet.store_namespace WHERE user_key = ANY (%(namespaces)s)"


async def list_namespaces(
    cursor: AsyncCursor[dict[str, Any]], op: ListNamespacesOp, hidden: Sequence[str]
) -> list[tuple[str, ...]]:
    """Return the namespaces that `op` asks for and that are not `hidden`, in the order of their labels."""
    conditions = [condition for condition in op.match_conditions or () if condition.path]
    begins = [condition.path for condition in conditions if condition.match_type == "prefix"]
    literal = [tuple(takewhile(lambda label: label != ANY_LABEL, path)) for path in begins]
    longest: tuple[str, ...] = max(literal, key=len, default=())
    low, high = span_of(longest)
    await cursor.execute(
        _LIST,
        {
            "low": low,
            "high": high,
            "least_depth": max((len(condition.path) for condition in conditions), default=0),
            "conditions": Jsonb(
                [{"path": condition.path, "at_end": condition.match_type == "suffix"} for condition in conditions]
            ),
            "hidden": list(hidden),
            "max_depth": op.max_depth,
            "limit": op.limit,
            "offset": op.offset,
        },
    )
    return [labels_of(row["path"]) for row in await cursor.fetchall()]


async def hidden_namespaces(pool: Pool) -> list[str]:
    """Return the paths of the namespaces all of whose items have expired and are still to be swept, of all users."""
    async with pool.connection() as conn, conn.cursor(binary=True) as cursor:
        expired = {row["user_key"] for row in await (await cursor.execute(_WITH_EXPIRED)).fetchall()}
        if not expired:
            return []
        rows = await (await cursor.execute(_WITH_VISIBLE, {"namespaces": list(expired)})).fetchall()
        hidden = expired - {row["user_key"] for row in rows}
        paths = await (await cursor.execute(_PATHS_OF, {"namespaces": list(hidden)})).fetchall()
    return [row["path"] for row in paths]
