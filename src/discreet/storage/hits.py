"""Count how often a memory was found and when last, apart from the searches themselves."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable
from typing import LiteralString
from uuid import UUID

from discreet.driver_errors import storage_errors
from discreet.errors import StorageError
from discreet.storage.deferred import Deferred
from discreet.storage.pool import Pool

logger = logging.getLogger(__name__)

FLUSH_SECONDS = 5.0
"""How long counts wait for others. A process that is killed loses them: they only help to decide what is evicted."""

_WRITE: LiteralString = """
INSERT INTO discreet.memory_stats (user_key, entry_id, hits, last_hit)
SELECT user_key, entry_id, hits, now()
FROM unnest(%(user_keys)s::bigint[], %(entry_ids)s::uuid[], %(hits)s::bigint[]) AS h (user_key, entry_id, hits)
JOIN discreet.memory m USING (user_key, entry_id)
ORDER BY user_key, entry_id
ON CONFLICT (user_key, entry_id) DO UPDATE
SET hits = memory_stats.hits + excluded.hits, last_hit = excluded.last_hit
"""
"""In the order of keys, so that two writers never wait for each other. What was deleted meanwhile is left out."""


class HitCounter:
    """Collects counts in RAM and writes them in batches: a search never waits for them and never updates a memory."""

    def __init__(self, pool: Pool) -> None:
        """Use `pool`, whose owner closes this first."""
        self._pool = pool
        self._hits: Counter[tuple[int, UUID]] = Counter()
        self._deferred = Deferred(self.flush, seconds=FLUSH_SECONDS)

    def add(self, found: Iterable[tuple[int, UUID]]) -> None:
        """Count memories, given by the keys of their person and entry. Must be called on the event loop of the pool."""
        self._hits.update(found)
        if self._hits:
            self._deferred.request()

    async def flush(self) -> None:
        """Write what was counted. A failure costs the counts and is logged."""
        hits, self._hits = self._hits, Counter()
        if not hits:
            return
        user_keys, entry_ids = zip(*hits, strict=True)
        parameters = {"user_keys": list(user_keys), "entry_ids": list(entry_ids), "hits": list(hits.values())}
        try:
            with storage_errors():
                async with self._pool.connection() as conn, conn.transaction():
                    await conn.execute("SET LOCAL synchronous_commit = off")
                    await conn.execute(_WRITE, parameters)
        except StorageError as error:
            logger.warning("memory.hits_not_counted memories=%d cause=%s", len(hits), error.code)

    async def close(self) -> None:
        """Write what is left and stop."""
        await self._deferred.close()
