"""Let the runs of a thread follow one another, in whatever processes they are.

Aegra takes `multitask_strategy` and does nothing by it: two runs at once in one thread begin at the same checkpoint, and the
turn of one of them is lost. A lease in Aegra's database says whose turn it is, and its rows of runs say who came first. The lease
is a row with an end: nothing holds a connection or a lock while a graph runs, so that it works behind a pooler too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, LiteralString
from uuid import uuid4

from psycopg import Error, errors
from psycopg_pool import AsyncConnectionPool

from discreet.storage.database.lease_extension import extending

logger = logging.getLogger(__name__)

LEASE_SECONDS: Final = 15.0
"""For how long a thread stands still whose process was killed. Aegra itself gives up a killed worker after 30 s."""

LOOK_SECONDS: Final = 0.1
"""How often a run that waits looks whether it is its turn."""

PENDING_SECONDS: Final = 60.0
"""For how long a run waits for an earlier one that no worker takes: those that wait may have all places of the workers."""

SETUP: Final[tuple[LiteralString, ...]] = (
    """
    CREATE TABLE IF NOT EXISTS discreet_thread_turn (
        thread_id text PRIMARY KEY,
        holder uuid NOT NULL,
        expires_at timestamptz NOT NULL
    )
    """,
)

CLAIM: Final[LiteralString] = """
INSERT INTO discreet_thread_turn AS turn (thread_id, holder, expires_at)
SELECT %(thread_id)s, %(holder)s, now() + make_interval(secs => %(seconds)s)
WHERE NOT EXISTS (
    SELECT FROM runs AS mine JOIN runs AS earlier
        ON earlier.thread_id = mine.thread_id AND (earlier.created_at, earlier.run_id) < (mine.created_at, mine.run_id)
    WHERE mine.run_id = %(run_id)s AND mine.thread_id = %(thread_id)s AND CASE earlier.status
        WHEN 'running' THEN earlier.lease_expires_at IS NOT NULL
            OR earlier.updated_at > COALESCE(%(alone_since)s::timestamptz, now() - interval '1 hour')
        WHEN 'pending' THEN earlier.updated_at > now() - make_interval(secs => %(patience)s)
        ELSE false END
)
ON CONFLICT (thread_id) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
WHERE turn.expires_at <= now()
RETURNING holder
"""
"""The primary key alone keeps two from having the turn; the rows of runs only say who asks first.

Aegra's reaper makes a run pending whose worker was killed: it still comes before those behind it. A run without a lease is
one of a process that runs all by itself, or is being handed over.
"""

EXTEND: Final[LiteralString] = """
UPDATE discreet_thread_turn SET expires_at = now() + make_interval(secs => %(seconds)s)
WHERE thread_id = %(thread_id)s AND holder = %(holder)s
"""

END: Final[LiteralString] = "DELETE FROM discreet_thread_turn WHERE thread_id = %(thread_id)s AND holder = %(holder)s"

BUSY: Final[LiteralString] = """
SELECT EXISTS (SELECT FROM runs WHERE thread_id = %(thread_id)s AND status IN ('pending', 'running')) AS busy
"""


class Turns:
    """The turns of all threads of a server."""

    def __init__(
        self,
        pool: AsyncConnectionPool[Any],
        *,
        lease_seconds: float = LEASE_SECONDS,
        pending_seconds: float = PENDING_SECONDS,
        alone: bool = False,
    ) -> None:
        """Use `pool`, in autocommit, with rows as dicts; its owner closes it.

        `alone`: no other process runs graphs, so that what ran before this one began runs no more.
        """
        self._pool = pool
        self._seconds = lease_seconds
        self._pending = pending_seconds
        self._alone_since = datetime.now(UTC) if alone else None

    async def setup(self) -> None:
        """Create the table; several processes may do it at once."""
        async with self._pool.connection() as conn:
            for statement in SETUP:
                with suppress(
                    errors.UniqueViolation, errors.DuplicateTable, errors.DuplicateObject
                ):  # another process was quicker
                    await conn.execute(statement)

    async def is_busy(self, thread_id: str) -> bool:
        """Tell whether a thread has a run that is not over."""
        async with self._pool.connection() as conn:
            row = await (await conn.execute(BUSY, {"thread_id": thread_id})).fetchone()
        return row is not None and row["busy"]

    @asynccontextmanager
    async def turn(self, thread_id: str, run_id: str | None = None) -> AsyncIterator[None]:
        """Wait until it is the turn of a run in `thread_id`, and hold it until the block ends.

        It comes after the runs that were made before it, if Aegra knows it.

        Raises:
            LeaseLostError: The database was out of reach for so long that another run has the turn; the block was cancelled.
        """
        given = {"thread_id": thread_id, "holder": uuid4(), "seconds": self._seconds}
        asked = {**given, "run_id": run_id, "patience": self._pending, "alone_since": self._alone_since}
        while await self._run(CLAIM, asked) is None:  # noqa: ASYNC110  # whose turn it is, other processes decide too
            await asyncio.sleep(LOOK_SECONDS)
        try:
            async with extending(partial(self._extend, given), seconds=self._seconds):
                yield
        finally:
            await asyncio.shield(self._run(END, given))

    async def _extend(self, given: dict[str, Any]) -> bool:
        try:
            async with self._pool.connection() as conn:
                extended: int = (await conn.execute(EXTEND, given)).rowcount
                return extended > 0
        except Error as error:  # the next time; until then nobody else has the turn, or it is lost
            logger.warning("thread_turn_not_extended cause=%s", type(error).__name__)
            return True

    async def _run(self, statement: LiteralString, given: dict[str, Any]) -> dict[str, Any] | None:
        async with self._pool.connection() as conn:
            cursor = await conn.execute(statement, given)
            row: dict[str, Any] | None = await cursor.fetchone() if cursor.description is not None else None
            return row
