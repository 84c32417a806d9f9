"""The two checkpointers, each over a pool of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from discreet.checkpoint import RedactingSaver, RedactingSyncSaver

CONNECTION: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
"""What LangGraph's savers ask of a pool's connections."""
POOL_SIZE = 10

STOCK = "stock"
OURS = "ours"
SIDES = (STOCK, OURS)


@asynccontextmanager
async def open_saver(
    side: str, dsn: str, *, connections: int = POOL_SIZE
) -> AsyncIterator[AsyncPostgresSaver | RedactingSaver]:
    """Yield the async checkpointer of one side over a pool, its tables made."""
    size = {"min_size": connections, "max_size": connections}
    async with AsyncConnectionPool(dsn, **size, kwargs=CONNECTION, open=False) as pool:
        await pool.wait()
        saver = AsyncPostgresSaver(pool) if side == STOCK else RedactingSaver.from_pool(pool)
        await saver.setup()
        yield saver


@contextmanager
def open_sync_saver(side: str, dsn: str) -> Iterator[PostgresSaver | RedactingSyncSaver]:
    """Yield the sync checkpointer of one side over a pool, its tables made."""
    with ConnectionPool(dsn, min_size=2, max_size=POOL_SIZE, kwargs=CONNECTION, open=True) as pool:
        pool.wait()
        saver = PostgresSaver(pool) if side == STOCK else RedactingSyncSaver.from_pool(pool)
        saver.setup()
        yield saver
