"""Read where reading costs the primary nothing: from a replica while it answers, else from the primary."""

from __future__ import annotations

import logging
import time
from typing import Any

from psycopg import Error, OperationalError
from psycopg.abc import QueryNoTemplate
from psycopg.rows import DictRow

from discreet.driver_errors import explain
from discreet.metrics import replica_failures
from discreet.storage.database.connecting.pool import Pool

logger = logging.getLogger(__name__)

REST_SECONDS = 5.0
"""For how long a replica that can't be reached is not asked again: each attempt keeps somebody waiting."""


class Reader:
    """Runs statements that change nothing. What they see may be as old as the replica is behind."""

    def __init__(self, primary: Pool, replica: Pool | None = None) -> None:
        """Use these pools, whose owner closes them after this."""
        self._primary = primary
        self._replica = replica
        self._rests_until = 0.0

    async def fetch(self, statement: QueryNoTemplate, parameters: dict[str, Any]) -> list[DictRow]:
        """Return the rows of `statement`, read in binary.

        Raises:
            psycopg.Error: The primary failed.
            StorageBusyError: Too many wait for its connections.
        """
        if self._replica is not None and time.monotonic() >= self._rests_until:
            try:
                return await _rows(self._replica, statement, parameters)
            except Error as error:  # also a conflict with what it replays, and a table that has not come there yet
                if isinstance(error, OperationalError):
                    self._rests_until = time.monotonic() + REST_SECONDS
                failure = explain(error)
                replica_failures.labels(cause=failure.code).inc()
                logger.warning("storage.read_from_primary cause=%s", failure.code)
        return await _rows(self._primary, statement, parameters)


async def _rows(pool: Pool, statement: QueryNoTemplate, parameters: dict[str, Any]) -> list[DictRow]:
    async with pool.connection() as conn, conn.cursor(binary=True) as cursor:
        await cursor.execute(statement, parameters)
        return await cursor.fetchall()
