"""List the namespaces of the store that hold items."""

from __future__ import annotations

from itertools import takewhile
from typing import Any, LiteralString

from langgraph.store.base import ListNamespacesOp
from psycopg import AsyncCursor
from psycopg.types.json import Jsonb

from discreet.storage.namespaces import labels_of, span_of
from discreet.storage.store_items import VISIBLE

ANY_LABEL = "*"

_LIST: LiteralString = f"""
SELECT DISTINCT chr(31) || array_to_string(n.labels[:coalesce(%(max_depth)s::integer, cardinality(n.labels))], chr(31))
    || chr(31) AS path
FROM discreet.person p
CROSS JOIN LATERAL (SELECT string_to_array(btrim(p.user_id, chr(31)), chr(31)) AS labels) n
WHERE p.user_id >= %(low)s AND p.user_id < %(high)s
  AND cardinality(n.labels) >= %(least_depth)s
  AND NOT EXISTS (
      SELECT
      FROM jsonb_to_recordset(%(conditions)s::jsonb) AS c (path jsonb, at_end boolean)
      CROSS JOIN LATERAL jsonb_array_elements_text(c.path) WITH ORDINALITY AS w (label, place)
      WHERE w.label <> '*' AND w.label <> n.labels[
          (w.place + CASE WHEN c.at_end THEN cardinality(n.labels) - jsonb_array_length(c.path) ELSE 0 END)::integer
      ]
  )
  AND EXISTS (SELECT FROM discreet.store_item i WHERE i.user_key = p.user_key AND {VISIBLE})
ORDER BY path
LIMIT %(limit)s OFFSET %(offset)s
"""  # noqa: S608 - a constant of ours
"""U+001F sorts before all that labels hold, so that the order of paths is that of their labels."""


async def list_namespaces(cursor: AsyncCursor[dict[str, Any]], op: ListNamespacesOp) -> list[tuple[str, ...]]:
    """Return the namespaces that `op` asks for, in the order of their labels."""
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
            "max_depth": op.max_depth,
            "limit": op.limit,
            "offset": op.offset,
        },
    )
    return [labels_of(row["path"]) for row in await cursor.fetchall()]
