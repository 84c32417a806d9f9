"""The savers under test, over a pool whose waits are short."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from discreet.checkpoint import KEEP, REDACT, CheckpointPolicy, RedactingSaver, RedactingSyncSaver
from discreet.checkpoint.postgres import CONNECTION
from discreet.ports import KeyProvider
from leak_battery import deltas
from leak_battery.stories import Face

POLICY = CheckpointPolicy(
    messages=("messages", "dialogue"),
    channels={"topic": REDACT, "locale": KEEP, "log": REDACT},
    subgraphs=("expert",),
    tools={"search_orders": REDACT},
    deltas=deltas.CHANNELS,
)


WAIT_SECONDS = 60.0
"""For a connection: many scenes may want one at once."""


@asynccontextmanager
async def open_pool(dsn: str, face: Face) -> AsyncIterator[Any]:
    """Yield a pool of the connections that savers of this face want."""
    options: dict[str, Any] = {
        "min_size": 2,
        "max_size": 8,
        "timeout": WAIT_SECONDS,
        "open": False,
        "kwargs": CONNECTION,
    }
    if face == "sync":
        with ConnectionPool(dsn, **options) as pool:
            yield pool
    else:
        async with AsyncConnectionPool(dsn, **options) as pool:
            yield pool


async def make_saver(pool: Any, *, stock: bool = False, keys: KeyProvider | None = None) -> Any:
    """Return a saver over `pool` whose tables are there. With `keys`, paused turns are spilled."""
    if isinstance(pool, ConnectionPool):
        saver = PostgresSaver(pool) if stock else RedactingSyncSaver.from_pool(pool, POLICY, keys=keys)
        saver.setup()
        return saver
    asaver = AsyncPostgresSaver(pool) if stock else RedactingSaver.from_pool(pool, POLICY, keys=keys)
    await asaver.setup()
    return asaver
