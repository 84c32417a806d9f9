"""Re-embed in the background, as one of the jobs of maintenance."""

from __future__ import annotations

import logging

from discreet.driver_errors import storage_errors
from discreet.errors import ProviderError
from discreet.metrics import reembedding_failures
from discreet.storage.database.connecting.connection import connect
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.connecting.target import Target
from discreet.storage.memories.spaces.reembedding import Reembedding
from discreet.storage.memories.spaces.spaces import EmbeddingSpace, hold_space

logger = logging.getLogger(__name__)


async def reembed(reembedding: Reembedding, pool: Pool, dsn: str | Target, space: EmbeddingSpace) -> None:
    """Say that `space` is in use, and move what is to be moved to it if it is active.

    With nothing to do it takes two short queries, and neither opens a connection nor asks the model.

    Raises:
        ProviderError: The embedding model keeps failing.
        StorageError: The database failed.
    """
    with storage_errors():
        if not await hold_space(pool, space) or not await reembedding.left():
            return
        try:
            async with await connect(dsn) as guard:
                moved = await reembedding.run(guard)
        except ProviderError as error:
            reembedding_failures.labels(cause=error.code).inc()
            raise
    if moved.rows or moved.failures:
        logger.info("memory.reembedded rows=%d failures=%d", moved.rows, moved.failures)
