"""Read where reading costs the primary nothing: from a replica while it answers, else from the primary."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from typing import Any, LiteralString

from psycopg import Error, OperationalError
from psycopg.abc import QueryNoTemplate
from psycopg.rows import DictRow

from discreet.driver_errors import explain
from discreet.errors import StatementTimeoutError
from discreet.metrics import replica_failures
from discreet.storage.database.connecting.pool import Pool

logger = logging.getLogger(__name__)

REST_SECONDS = 5.0
"""For how long a replica that can't be reached is not asked again: each attempt keeps somebody waiting."""


ANSWER_SECONDS = 2.0
"""How long a search may take there: one takes milliseconds, and a replica that hangs says nothing."""

_IS_STANDBY: LiteralString = "SELECT pg_is_in_recovery() AS is_standby"
"""Of one that was promoted nothing that the primary stores or deletes is heard any more. What replicates in other ways than a
standby is never one."""


class Reader:
    """Runs statements that change nothing. What they see may be as old as the replica is behind."""

    def __init__(self, primary: Pool, replica: Pool | None = None) -> None:
        """Use these pools, whose owner closes them after this."""
        self._primary = primary
        self._replica = replica
        self._rests_until = 0.0
        self._asked_at = -math.inf
        self._was_standby = self._is_standby = False

    async def fetch(self, statement: QueryNoTemplate, parameters: dict[str, Any]) -> list[DictRow]:
        """Return the rows of `statement`, read in binary.

        Raises:
            psycopg.Error: The primary failed.
            StorageBusyError: Too many wait for its connections.
        """
        if self._replica is not None and time.monotonic() >= self._rests_until:
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    if await self._follows(self._replica):
                        return await _rows(self._replica, statement, parameters)
                self._left("promoted", rests=True)
            except TimeoutError:
                self._left(StatementTimeoutError.code, rests=True)
            except Error as error:  # also a conflict with what it replays, and a table that has not come there yet
                self._left(explain(error).code, rests=isinstance(error, OperationalError))
        return await _rows(self._primary, statement, parameters)

    async def _follows(self, replica: Pool) -> bool:
        """Return whether the replica still follows the primary, as far as that is known to be its way; asked now and then."""
        if time.monotonic() >= self._asked_at + REST_SECONDS:
            [row] = await _rows(replica, _IS_STANDBY, {})
            self._asked_at = time.monotonic()
            self._was_standby = self._was_standby or row["is_standby"]
            self._is_standby = row["is_standby"]
        return self._is_standby or not self._was_standby

    def _left(self, cause: str, *, rests: bool) -> None:
        """Note that the primary does the replica's work."""
        if rests:
            self._rests_until = time.monotonic() + REST_SECONDS
        replica_failures.labels(cause=cause).inc()
        logger.warning("storage.read_from_primary cause=%s", cause)


async def _rows(pool: Pool, statement: QueryNoTemplate, parameters: dict[str, Any]) -> list[DictRow]:
    async with pool.connection() as conn, conn.cursor(binary=True) as cursor:
        await cursor.execute(statement, parameters)
        return await cursor.fetchall()
