"""Count how often a memory was found and when last, apart from the searches themselves."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import LiteralString
from uuid import UUID

from discreet.access.actor import beside_reading, current_delegate
from discreet.driver_errors import storage_errors
from discreet.erased import Erased, on_erasure
from discreet.errors import StorageError, StorageUnavailableError
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.debounce import Debounce
from discreet.storage.database.users.users import OWNER

logger = logging.getLogger(__name__)

FLUSH_SECONDS = 5.0
"""How long counts wait for others. A process that is killed loses them: they only help to decide what is evicted."""

_WRITE: LiteralString = f"""
WITH {OWNER},
written AS (
    INSERT INTO discreet.memory_stats AS s (user_key, entry_id, hits, last_hit)
    SELECT m.user_key, m.entry_id, h.hits, now()
    FROM owner
    JOIN discreet.memory m ON m.user_key = owner.user_key
    JOIN unnest(%(entry_ids)s::uuid[], %(hits)s::bigint[]) AS h (entry_id, hits) ON h.entry_id = m.entry_id
    WHERE m.user_key = %(user_key)s AND m.entry_id = ANY (%(entry_ids)s)
    ORDER BY m.entry_id
    FOR KEY SHARE OF m SKIP LOCKED
    ON CONFLICT (user_key, entry_id) DO UPDATE SET hits = s.hits + excluded.hits, last_hit = excluded.last_hit
)
SELECT set_config('synchronous_commit', 'off', true)
"""
"""In the order of keys, so that two writers never wait for each other. What is deleted, or being deleted, is left out, and what
is locked can't be deleted before its count is written."""


class UsageCounts:
    """Collects counts in RAM and writes them in batches: a search never waits for them and never updates a memory."""

    def __init__(self, pool: Pool) -> None:
        """Use `pool`, whose owner closes this first."""
        self._pool = pool
        self._hits: Counter[tuple[UUID, UUID]] = Counter()
        self._deferred = Debounce(self.flush, seconds=FLUSH_SECONDS)
        on_erasure(self._forget)

    def add(self, found: Iterable[tuple[UUID, UUID]]) -> None:
        """Count memories, given by the keys of their user and entry. Must be called on the event loop of the pool.

        What a delegate finds is not counted: their reading changes nothing, and so nothing of what is evicted.
        """
        if current_delegate() is not None:
            return
        self._hits.update(found)
        if self._hits:
            self._deferred.request()

    async def flush(self) -> None:
        """Write what was counted, each user's by itself. A failure costs their counts and is logged."""
        hits, self._hits = self._hits, Counter()
        if not hits:
            return
        by_user: defaultdict[UUID, dict[UUID, int]] = defaultdict(dict)
        for (user_key, entry_id), count in hits.items():
            by_user[user_key][entry_id] = count
        lost = 0
        for user_key, counts in by_user.items():
            given = {"user_key": user_key, "epoch": None, "entry_ids": list(counts), "hits": list(counts.values())}
            try:
                with storage_errors(), beside_reading():
                    async with self._pool.connection() as conn, conn.cursor(binary=True) as cursor:
                        await cursor.execute(_WRITE, given)
            except StorageUnavailableError as error:
                logger.warning("memory.hits_not_counted memories=%d cause=%s", len(hits), error.code)
                return
            except StorageError:
                lost += len(counts)
        if lost:
            logger.warning("memory.hits_not_counted memories=%d cause=%s", lost, StorageError.code)

    def _forget(self, erased: Erased) -> None:
        for counted in [each for each in self._hits if erased.is_of(each[0])]:
            del self._hits[counted]

    async def close(self) -> None:
        """Write what is left and stop."""
        await self._deferred.close()
