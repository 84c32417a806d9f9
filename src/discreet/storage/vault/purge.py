"""Delete the turns of the vault that have ended, in batches."""

from __future__ import annotations

from discreet.driver_errors import storage_errors
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.expiry import Expiry, delete_expired

BATCH = 100
"""Turns deleted by one statement, each of up to 30 MB."""

TURNS = Expiry(table="vault_turn", key=("turn_key",), due="expires_at")


async def purge_vault(pool: Pool, *, batch: int = BATCH) -> int:
    """Delete turns that have ended with their values, at most `batch` a statement; return how many went.

    Raises:
        StorageError: The database failed. What was deleted before stays so.
    """
    with storage_errors():
        return await delete_expired(pool, TURNS, batch=batch)
