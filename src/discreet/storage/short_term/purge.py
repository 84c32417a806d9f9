"""Delete what has expired of the short-term store, in batches."""

from __future__ import annotations

import logging

from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.expiry import Expiry, delete_expired
from discreet.storage.short_term.texts import short_term_errors

logger = logging.getLogger(__name__)

BATCH = 1_000
"""Sessions or claims deleted by one statement, so that none takes long."""

SESSIONS = Expiry(table="short_term_session", key=("user_key", "thread_key"), due="purge_at")
WORKS = Expiry(table="short_term_work", key=("user_key", "work_key"), due="purge_at")


async def purge_short_term(pool: Pool, *, batch: int = BATCH) -> int:
    """Delete what has expired, sessions with their rounds, at most `batch` a statement; return how many went.

    Raises:
        ShortTermError: The database failed. What was deleted before stays so.
    """
    with short_term_errors():
        purged = await delete_expired(pool, SESSIONS, batch=batch) + await delete_expired(pool, WORKS, batch=batch)
    if purged:
        logger.info("short_term.purged entries=%d", purged)
    return purged
