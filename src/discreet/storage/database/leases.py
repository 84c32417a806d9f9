"""Let one process of all that share a database do a piece of work."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, LiteralString

from psycopg import AsyncConnection
from psycopg.rows import dict_row

REEMBEDDING = 0x5245_454D_4245_4420
"""Key of the advisory lock: "REEMBED " in ASCII."""
TOKEN_COUNTS = 0x544F_4B45_4E53_554D
"""Key of the advisory lock: "TOKENSUM" in ASCII."""
EXPIRY = 0x4558_5049_0000_0000
"""Least key of the advisory locks: "EXPI" in ASCII, and 32 bits that say whose rows expire."""
AUDIT_SEALS = 0x4155_4449_5453_4541
"""Key of the advisory lock: "AUDITSEA" in ASCII."""

_TRY_LOCK: LiteralString = "SELECT pg_try_advisory_xact_lock(%s) AS leased"


@asynccontextmanager
async def job_lease(conn: AsyncConnection[Any], key: int) -> AsyncIterator[bool]:
    """Hold the lease `key` in a transaction of `conn`, which is in autocommit; yield False if another process has it.

    The lock belongs to the transaction and not to the session, so that it works behind a pooler too and goes with the
    process. Between its statements the transaction has no snapshot and no row: it keeps neither vacuum nor CREATE INDEX
    CONCURRENTLY nor anybody who writes waiting. Do everything else on another connection.
    """
    async with conn.transaction(), conn.cursor(row_factory=dict_row) as cursor:
        row = await (await cursor.execute(_TRY_LOCK, (key,))).fetchone()
        # Last: the SELECT's portal keeps its snapshot until another statement takes its place, and this one needs none.
        await cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        yield row is not None and row["leased"]
