"""Read a user's last rounds from V1's history or from our log, as the phase of the migration says: the read switch."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import Any, Final, LiteralString, Self

from discreet import metrics
from discreet.background_loop import wait_for
from discreet.errors import DiscreetError, StorageError
from discreet.importing.history.phase import READS_OURS
from discreet.importing.history.rounds import THREAD, round_of
from discreet.importing.history.v1 import v1_history
from discreet.storage import Storage
from discreet.storage.database.keys import digest
from discreet.storage.database.statements import fetch

logger = logging.getLogger(__name__)

READ_SECONDS: Final = 2.0
"""For either of the two: a turn waits for it."""
WINDOW: Final = timedelta(hours=24)
"""For so long V1 keeps a history."""
ROUNDS: Final = 6

_FIRST_OF_LAST: LiteralString = """
SELECT started_at FROM discreet.conversation_log
WHERE user_key = %(user_key)s AND thread_key = %(thread_key)s AND started_at >= %(after)s
ORDER BY started_at DESC
OFFSET %(skipped)s LIMIT 1
"""


class HistoryReader:
    """Reads from V1's Redis or from a storage. Both give dicts: {"input", "output", "rid", "timestamp", "is_emergency"}.

    Once reading is switched to ours, a reading that fails there is answered from V1, which is still written, until the
    migration is finished.
    """

    def __init__(self, storage: Storage, redis_url: str) -> None:
        """Read from `storage`, which its owner closes, after this.

        Raises:
            ImportSourceError: The URL can't be used.
            MissingDependencyError: redis-py is not installed.
        """
        self._storage = storage
        self._v1 = v1_history(redis_url, answer=READ_SECONDS / 2, total=READ_SECONDS)

    async def __aenter__(self) -> Self:
        """Return it."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close its connections to Redis."""
        await self.aclose()

    async def aclose(self) -> None:
        """Close its connections to Redis."""
        await self._v1.client.close()

    def close(self) -> None:
        """Do the same from code without an event loop."""
        wait_for(self.aclose())

    async def fetch(self, user_id: str, k: int = ROUNDS) -> list[dict[str, Any]]:
        """Return a user's last `k` rounds, oldest first; from V1 those that its rolling summary has not, as ever.

        Raises:
            ImportSourceError: V1's Redis failed while it is read.
            StorageError: Ours failed after the migration was finished.
            InvalidUserError: `user_id` can't be used.
        """
        phase = self._storage.memory_settings.live.history_migration
        if phase in READS_OURS:
            try:
                async with asyncio.timeout(READ_SECONDS):
                    found = await self._ours(user_id, k)
            except (StorageError, TimeoutError) as error:
                cause = error.code if isinstance(error, DiscreetError) else type(error).__name__
                logger.warning("history.read_failed phase=%s cause=%s", phase, cause)
                if phase == "finished":
                    raise
                metrics.history_reads.labels(source="fallback").inc()
            else:
                metrics.history_reads.labels(source="discreet").inc()
                return found
        else:
            metrics.history_reads.labels(source="redis_v1").inc()
        return await self._v1.tail(user_id, k)

    def fetch_sync(self, user_id: str, k: int = ROUNDS) -> list[dict[str, Any]]:
        """Do the same from code without an event loop, over a storage that `open_storage_sync` opened."""
        return wait_for(self.fetch(user_id, k))

    async def _ours(self, user_id: str, k: int) -> list[dict[str, Any]]:
        if k <= 0:
            return []
        after = datetime.now(UTC) - WINDOW
        asked = {
            "user_key": self._storage.background.keys.of_user(user_id),
            "thread_key": digest(THREAD),
            "after": after,
            "skipped": k - 1,
        }
        first = await fetch(self._storage.pool, _FIRST_OF_LAST, asked)
        since = first[0]["started_at"] if first else after
        turns = await self._storage.log.read(user_id, thread_id=THREAD, after=since, limit=10 * k + 100)
        return [round_of(turn) for turn in turns[-k:]]
