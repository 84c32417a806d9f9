"""Build the covering index anew while it is used, for what many updates have bloated."""

from __future__ import annotations

from typing import LiteralString

from psycopg import sql

from discreet.driver_errors import storage_errors
from discreet.storage.database.connecting.connection import connect
from discreet.storage.database.connecting.target import Target

_LEFTOVERS: LiteralString = """
SELECT c.relname
FROM pg_index i
JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = 'discreet.memory'::regclass AND NOT i.indisvalid AND c.relname ~ '^memory_pkey_cc(new|old)[0-9]*$'
"""
"""What a REINDEX CONCURRENTLY that was killed leaves behind (PostgreSQL docs, REINDEX, "Rebuilding Indexes
Concurrently")."""


async def rebuild_search_index(dsn: str | Target) -> None:
    """Rebuild the covering index, to which re-embedding every row adds the whole of it once more.

    Searches and saves go on. It needs as much room on disk again, and waits for transactions that are open.

    Raises:
        StorageError: The database failed, or another REINDEX is under way; the index is as it was.
    """
    with storage_errors():
        async with await connect(dsn) as conn:
            for (name,) in await (await conn.execute(_LEFTOVERS)).fetchall():
                await conn.execute(
                    sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS discreet.{}").format(sql.Identifier(name))
                )
            await conn.execute("REINDEX INDEX CONCURRENTLY discreet.memory_pkey")
