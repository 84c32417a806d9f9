"""Which channels the newest checkpoints of threads have that another saver has stored, by their names alone."""

from __future__ import annotations

from typing import Any, Final

from psycopg.errors import InsufficientPrivilege, QueryCanceled

from discreet.checkpoint.channels import MARKS
from discreet.checkpoint.postgres.cursors import AsyncTableCursor, TableCursor
from discreet.checkpoint.postgres.schema import LANGGRAPHS, THREADS, Found

CHANNELS: Final = f"""
WITH heads AS MATERIALIZED (
    SELECT thread_id, max(checkpoint_id) AS checkpoint_id FROM {{checkpoints}}
    WHERE checkpoint_ns = '' {{where}} GROUP BY thread_id {{limit}}
),
newest AS MATERIALIZED (
    SELECT c.thread_id, c.checkpoint -> 'channel_values' AS inline, c.checkpoint -> 'channel_versions' AS versions,
        c.checkpoint -> 'versions_seen' AS seen
    FROM heads h JOIN {{checkpoints}} c USING (thread_id, checkpoint_id)
    WHERE c.checkpoint_ns = ''
        AND NOT coalesce(jsonb_exists(c.checkpoint #> '{{{{versions_seen,{MARKS}}}}}', c.checkpoint_id), false)
),
found AS (
    SELECT n.thread_id, v.key AS channel, n.seen FROM newest n CROSS JOIN LATERAL jsonb_each(n.inline) v
    WHERE v.value <> 'null'
    UNION ALL
    SELECT n.thread_id, b.channel, n.seen
    FROM newest n CROSS JOIN LATERAL jsonb_each_text(n.versions) v
    JOIN {{blobs}} b ON b.thread_id = n.thread_id AND b.checkpoint_ns = '' AND b.channel = v.key AND b.version = v.value
    WHERE b.type <> 'empty'
)
SELECT channel, count(DISTINCT thread_id) AS threads FROM found WHERE NOT jsonb_exists(seen, channel) GROUP BY channel
"""
"""Without what our savers wrote, and without the nodes that LangGraph had channels for before 0.4. `blobs` are joined by their whole key, and no value
of theirs is read."""

_THREADS: Final = 500
"""Looked at where a process starts: the first ones of the index."""
_LOOK: Final = CHANNELS.format(checkpoints="checkpoints", blobs="checkpoint_blobs", where="", limit=f"LIMIT {_THREADS}")
_PATIENCE: Final = "SET LOCAL statement_timeout = '1s'"


def is_adoption(there: Found) -> bool:
    """Return whether a schema has LangGraph's tables, and none that our savers add."""
    return there.tables.issuperset(LANGGRAPHS) and THREADS not in there.tables


async def foreign_channels(cursor: AsyncTableCursor) -> list[str]:
    """Return the channels of a few hundred threads; none if that takes more than a second, or this role may not read them."""
    try:
        async with cursor.connection.transaction():
            await cursor.execute(_PATIENCE)
            return _names(await (await cursor.execute(_LOOK)).fetchall())
    except (QueryCanceled, InsufficientPrivilege):
        return []


def sync_foreign_channels(cursor: TableCursor) -> list[str]:
    """Do what `foreign_channels` does, blocking."""
    try:
        with cursor.connection.transaction():
            cursor.execute(_PATIENCE)
            return _names(cursor.execute(_LOOK).fetchall())
    except (QueryCanceled, InsufficientPrivilege):
        return []


def _names(rows: list[dict[str, Any]]) -> list[str]:
    return [row["channel"] for row in rows]
