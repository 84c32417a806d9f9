"""The turn vault in UNLOGGED tables of the database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from discreet.driver_errors import storage_errors
from discreet.errors import StorageUnavailableError
from discreet.ports import KeyProvider
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.vault.shared import Rows, SharedTurnVault
from discreet.storage.vault.sql import ADD, DROP, FORGET_EXPIRED, TOUCH, VALUES
from discreet.storage.vault.values import MAX_TURN_BYTES, TTL_SECONDS

ANSWER_SECONDS = 5.0
"""How long a turn waits for its values; without them it goes on with placeholders."""


class PostgresTurnVault(SharedTurnVault):
    """Keeps the values of running turns sealed in PostgreSQL: one round trip a method. A crash of the server empties it.

    A turn is invisible `ttl` seconds after it was last added to, or as many as it was then given, and holds at most `max_bytes`, sealed. What the server
    sees, logs and stores are digests and ciphertext.
    """

    def __init__(
        self, pool: Pool, *, keys: KeyProvider | None, ttl: float = TTL_SECONDS, max_bytes: int = MAX_TURN_BYTES
    ) -> None:
        """Use `pool`, which belongs to the running event loop and whose owner closes it.

        Raises:
            ConfigurationError: There is no key.
        """
        super().__init__(keys, ttl)
        self._pool = pool
        self._max_bytes = max_bytes

    async def _add(self, turn_key: UUID, rows: Rows, seconds: float) -> None:
        given: dict[str, Any] = {"turn_key": turn_key, "seconds": seconds}
        added = {
            **given,
            "value_keys": [value_key for value_key, _ in rows],
            "sealed": [sealed for _, sealed in rows],
            "max_bytes": self._max_bytes,
        }
        # A pipeline alone is one transaction too, but not for a cluster, which commits each statement on its node.
        async with _answered(), self._pool.connection() as conn, conn.pipeline(), conn.transaction():
            await conn.execute(FORGET_EXPIRED, given)
            await conn.execute(TOUCH, given)
            if rows:
                await conn.execute(ADD, added)

    async def _found(self, turn_key: UUID) -> Rows:
        async with _answered(), self._pool.connection() as conn, conn.cursor(binary=True) as cursor:
            await cursor.execute(VALUES, {"turn_key": turn_key})
            return [(row["value_key"], row["sealed"]) for row in await cursor.fetchall()]

    async def _forget(self, turn_key: UUID) -> None:
        async with _answered(), self._pool.connection() as conn:
            await conn.execute(DROP, {"turn_key": turn_key})


@asynccontextmanager
async def _answered() -> AsyncIterator[None]:
    """Wait for the database, and no longer than `ANSWER_SECONDS`.

    Raises:
        StorageError: It failed, or took longer.
    """
    try:
        with storage_errors():
            async with asyncio.timeout(ANSWER_SECONDS):
                yield
    except TimeoutError:
        raise StorageUnavailableError(f"The turn vault did not answer within {ANSWER_SECONDS:.0f} seconds.") from None
