"""Delete what has expired of the short-term store and of the turn vault, in batches."""

from __future__ import annotations

import asyncio
import logging
from typing import LiteralString

from discreet.storage.pool import Pool
from discreet.storage.short_term_texts import short_term_errors

logger = logging.getLogger(__name__)

BATCH = 1_000
"""Sessions or claims deleted by one statement, so that none takes long."""

VAULT_BATCH = 100
"""Turns of the vault, each of up to 30 MB."""

DELAY_SECONDS = 2.0
"""A process opens one connection at first; a purge at that moment would make it open another."""

SESSIONS: LiteralString = """
DELETE FROM discreet.short_term_session
WHERE session_key = ANY (ARRAY(
    SELECT session_key
    FROM discreet.short_term_session
    WHERE purge_at <= now()
    ORDER BY purge_at
    LIMIT %(batch)s
    FOR UPDATE SKIP LOCKED
))
"""
"""With their rounds. What another process deletes or touches at this moment is left to it."""

WORKS: LiteralString = """
DELETE FROM discreet.short_term_work
WHERE work_key = ANY (ARRAY(
    SELECT work_key
    FROM discreet.short_term_work
    WHERE purge_at <= now()
    ORDER BY purge_at
    LIMIT %(batch)s
    FOR UPDATE SKIP LOCKED
))
"""

TURNS: LiteralString = """
DELETE FROM discreet.vault_turn
WHERE turn_key = ANY (ARRAY(
    SELECT turn_key
    FROM discreet.vault_turn
    WHERE expires_at <= now()
    ORDER BY expires_at
    LIMIT %(batch)s
    FOR UPDATE SKIP LOCKED
))
"""
"""With their values."""


async def purge_unhurried(pool: Pool) -> None:
    """Do what `purge_short_term` does, some seconds later: as upkeep that keeps out of the way of a process's first turn.

    Raises:
        ShortTermError: The database failed.
    """
    await asyncio.sleep(DELAY_SECONDS)
    await purge_short_term(pool)


async def purge_short_term(pool: Pool, *, batch: int = BATCH) -> int:
    """Delete what has expired, at most `batch` sessions, claims or turns a statement; return how many went.

    Raises:
        ShortTermError: The database failed. What was deleted before stays so.
    """
    purged = 0
    for statement, most in ((SESSIONS, batch), (WORKS, batch), (TURNS, min(batch, VAULT_BATCH))):
        gone = most
        while gone == most:
            with short_term_errors():
                async with pool.connection() as conn, conn.cursor() as cursor:
                    await cursor.execute(statement, {"batch": most})
                    gone = cursor.rowcount
            purged += gone
    if purged:
        logger.info("short_term.purged entries=%d", purged)
    return purged
