"""Keep a person's memories within their limit."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, LiteralString
from uuid import UUID

from psycopg import AsyncCursor

from discreet.state.records import MemoryType

UNCOUNTED: Final[tuple[MemoryType, ...]] = ("turn", "reasoning")
"""Types outside the limit: both are kept for a time of their own, turns with the conversation log."""

KEPT: Final[tuple[MemoryType, ...]] = ("important_moment",)
"""Counted, and never evicted."""

HALF_LIFE_DAYS = 180
"""Days after which a memory that nobody said again or found counts half as much. As long as the vectors of turns live."""

_EVICT: LiteralString = """
WITH counted AS (
    SELECT count(*) AS memories
    FROM discreet.memory
    WHERE user_key = %(user_key)s AND type <> ALL (%(uncounted)s::discreet.memory_type[])
),
surplus AS (
    SELECT m.user_key, m.entry_id
    FROM discreet.memory m
    LEFT JOIN discreet.memory_stats s USING (user_key, entry_id)
    WHERE m.user_key = %(user_key)s
      AND m.type <> ALL (%(uncounted)s::discreet.memory_type[]) AND m.type <> ALL (%(kept)s::discreet.memory_type[])
      AND (SELECT memories FROM counted) > %(limit)s
    ORDER BY m.valid_to IS NULL OR m.valid_to > now(),
             m.entry_id = ANY (%(written)s),
             m.importance * power(
                 0.5::double precision,
                 extract(epoch FROM now() - greatest(m.created_at, s.last_hit))::double precision / %(half_life)s
             ),
             m.created_at, m.entry_id
    LIMIT greatest((SELECT memories FROM counted) - %(limit)s, 0)
)
DELETE FROM discreet.memory m
USING surplus s
WHERE m.user_key = s.user_key AND m.entry_id = s.entry_id
RETURNING m.thread_id, m.position
"""
"""Superseded ones first, then the lowest importance times recency, and last what has just been written. Within the limit it is one count in the covering index:
the second part is not run."""


async def evict(
    cursor: AsyncCursor[dict[str, Any]], user_key: int, *, limit: int, written: Collection[UUID]
) -> list[tuple[str | None, int | None]]:
    """Delete what a person, who must be locked, has over `limit`; return thread and position of each."""
    await cursor.execute(
        _EVICT,
        {
            "user_key": user_key,
            "limit": limit,
            "written": list(written),
            "uncounted": list(UNCOUNTED),
            "kept": list(KEPT),
            "half_life": HALF_LIFE_DAYS * 86_400,
        },
    )
    return [(row["thread_id"], row["position"]) for row in await cursor.fetchall()]
