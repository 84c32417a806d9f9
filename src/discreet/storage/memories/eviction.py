"""Keep a user's memories within their limit."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any, Final, LiteralString
from uuid import UUID

from psycopg import AsyncCursor

from discreet.state.records import MemoryType
from discreet.storage.database.statements import fetch_in

UNCOUNTED: Final[tuple[MemoryType, ...]] = ("turn", "reasoning")
"""Types outside the limit: both are kept for a time of their own, turns with the conversation log."""

KEPT: Final[tuple[MemoryType, ...]] = ("important_moment",)
"""Counted, and never evicted."""

LEAST_ROOM = 0.1
"""Of the limit, for all others: who has as many moments as the limit could remember nothing else."""

HALF_LIFE_DAYS = 180
"""Days after which a memory that nobody said again or found counts half as much. As long as the vectors of turns live."""

SLACK = 0.95
"""Of the limit: who is over it is brought down to so much, so that not each of the next saves has to evict (4 ms of the
server's time)."""

_EVICT: LiteralString = """
WITH counted AS (
    SELECT
        count(*) FILTER (WHERE NOT is_kept) AS memories,
        greatest(%(limit)s - count(*) FILTER (WHERE is_kept), %(least_room)s) AS room
    FROM (
        SELECT type = ANY (%(kept)s::discreet.memory_type[]) AS is_kept
        FROM discreet.memory
        WHERE user_key = %(user_key)s AND type <> ALL (%(uncounted)s::discreet.memory_type[])
    ) m
),
surplus AS (
    SELECT m.entry_id, m.entry_id = ANY (%(saved)s) AS is_new, row_number() OVER least_useful AS place
    FROM discreet.memory m
    LEFT JOIN discreet.memory_stats s ON s.user_key = %(user_key)s AND s.entry_id = m.entry_id
    WHERE m.user_key = %(user_key)s
      AND m.type <> ALL (%(uncounted)s::discreet.memory_type[]) AND m.type <> ALL (%(kept)s::discreet.memory_type[])
      AND (SELECT memories > room FROM counted)
    WINDOW least_useful AS (
        ORDER BY m.valid_to IS NULL OR m.valid_to > now(),
                 m.entry_id = ANY (%(saved)s),
                 m.importance * power(
                     0.5::double precision,
                     least(1000, greatest(0, (
                         extract(epoch FROM now()) - extract(epoch FROM greatest(m.created_at, s.last_hit))
                     )::double precision / %(half_life)s))
                 ),
                 m.created_at, m.entry_id
    )
    ORDER BY place
    LIMIT greatest((SELECT memories - ceil(room * %(slack)s::double precision)::bigint FROM counted), 0)
)
DELETE FROM discreet.memory m
USING surplus s
WHERE m.user_key = %(user_key)s AND m.entry_id = s.entry_id
  AND (NOT s.is_new OR s.place <= (SELECT memories - room FROM counted))
RETURNING m.entry_id, m.thread_id, m.position, m.lexical
"""
"""Superseded ones first, then the lowest importance times recency, and last what has just been saved or said again, of that only
what is beyond the limit itself. Within the limit it is one count in the covering index: the second part is not run. Ages are
bounded: records may be of the year 1, or of 9999."""


async def evict(
    cursor: AsyncCursor[dict[str, Any]], user_key: UUID, *, limit: int, saved: Collection[UUID]
) -> list[dict[str, Any]]:
    """Delete the least useful memories of a user, who must be locked, who has more than `limit`, down to `SLACK` of it.

    `saved` are the entries of the save that it is done for. Return entry_id, thread_id, position and lexical of each.
    """
    given = {
        "user_key": user_key,
        "limit": limit,
        "least_room": math.ceil(limit * LEAST_ROOM),
        "slack": SLACK,
        "saved": list(saved),
        "uncounted": list(UNCOUNTED),
        "kept": list(KEPT),
        "half_life": HALF_LIFE_DAYS * 86_400,
    }
    return await fetch_in(cursor, _EVICT, given)
