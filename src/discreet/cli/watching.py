"""Tell what a migration does while it takes long: how far an index is, and who is in the way."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final, LiteralString

from psycopg import Error
from psycopg.conninfo import make_conninfo

from discreet.storage.database.connecting.connection import connect
from discreet.storage.database.connecting.target import connection_string

APPLICATION = "discreet migrate"
"""Name of the sessions in pg_stat_activity."""
PERIOD_SECONDS = 5.0
"""Between two looks. What takes less is told at its end only."""

_INDEXES: Final[LiteralString] = """
SELECT COALESCE(c.relname, 'an index') || ': ' || p.phase
    || COALESCE(', ' || 100 * p.blocks_done / NULLIF(p.blocks_total, 0) || ' % of the blocks', '')
    || COALESCE(', waits for the session ' || NULLIF(p.current_locker_pid, 0), '')
FROM pg_stat_progress_create_index p LEFT JOIN pg_class c ON c.oid = p.index_relid
WHERE p.datname = current_database()
"""
_WAITS: Final[LiteralString] = """
SELECT 'waits for a lock; in the way: session ' || array_to_string(pg_blocking_pids(pid), ', ')
FROM pg_stat_activity
WHERE datname = current_database() AND application_name = %s AND cardinality(pg_blocking_pids(pid)) > 0
    AND query NOT ILIKE '%%INDEX CONCURRENTLY%%'
"""


def named(dsn: str) -> str:
    """Return `dsn` for sessions that can be told from others."""
    return make_conninfo(connection_string(dsn), application_name=APPLICATION)


@asynccontextmanager
async def watched(dsn: str) -> AsyncIterator[None]:
    """Print to standard error what the sessions of `named` do, now and again until the end of the block."""
    watching = asyncio.create_task(_watch(dsn))
    try:
        yield
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching


async def _watch(dsn: str) -> None:
    while True:
        await asyncio.sleep(PERIOD_SECONDS)
        with suppress(Error):  # a look that fails is not to end the work that it looks at
            for line in await _seen(dsn):
                print(line, file=sys.stderr, flush=True)


async def _seen(dsn: str) -> list[str]:
    """Ask on a connection that ends: CREATE INDEX CONCURRENTLY waits for whoever has a snapshot and stays."""
    async with await connect(dsn) as conn:
        building = await (await conn.execute(_INDEXES)).fetchall()
        waiting = await (await conn.execute(_WAITS, (APPLICATION,))).fetchall()
    return [str(line) for (line,) in (*building, *waiting)]
