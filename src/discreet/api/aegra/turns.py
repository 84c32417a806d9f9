"""Let the runs of a thread follow one another, in whatever processes they are.

Aegra takes `multitask_strategy` and does nothing by it: two runs at once in one thread begin at the same checkpoint, and the
turn of one of them is lost. A lease in Aegra's database says whose turn it is, and tickets say who came first. Both are
rows with an end: nothing holds a connection or a lock while a graph runs, so that it works behind a pooler too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, LiteralString
from uuid import uuid4

from psycopg import Error, errors
from psycopg_pool import AsyncConnectionPool

from discreet.errors import LeaseLostError

logger = logging.getLogger(__name__)

LEASE_SECONDS: Final = 15.0
"""For how long a thread stands still whose process was killed. Aegra itself gives up a killed worker after 30 s."""

LOOK_SECONDS: Final = 0.1
"""How often a run that waits looks whether it is its turn."""

SETUP: Final[tuple[LiteralString, ...]] = (
    """
    CREATE TABLE IF NOT EXISTS discreet_thread_turn (
        thread_id text PRIMARY KEY,
        holder uuid NOT NULL,
        expires_at timestamptz NOT NULL
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS discreet_thread_ticket (
        ticket bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        thread_id text NOT NULL,
        expires_at timestamptz NOT NULL
    )
    """,
    "CREATE INDEX IF NOT EXISTS discreet_thread_ticket_thread ON discreet_thread_ticket (thread_id, ticket)",
)

TAKE_TICKET: Final[LiteralString] = """
INSERT INTO discreet_thread_ticket (thread_id, expires_at)
VALUES (%(thread_id)s, now() + make_interval(secs => %(seconds)s)) RETURNING ticket
"""

CLAIM: Final[LiteralString] = """
WITH mine AS (
    UPDATE discreet_thread_ticket SET expires_at = now() + make_interval(secs => %(seconds)s) WHERE ticket = %(ticket)s
)
INSERT INTO discreet_thread_turn AS turn (thread_id, holder, expires_at)
SELECT %(thread_id)s, %(holder)s, now() + make_interval(secs => %(seconds)s)
WHERE NOT EXISTS (
    SELECT FROM discreet_thread_ticket
    WHERE thread_id = %(thread_id)s AND ticket < %(ticket)s AND expires_at > now()
)
ON CONFLICT (thread_id) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
WHERE turn.expires_at <= now()
RETURNING holder
"""
"""The primary key alone keeps two from having the turn; tickets only say who asks first."""

GIVE_TICKET_BACK: Final[LiteralString] = """
DELETE FROM discreet_thread_ticket WHERE ticket = %(ticket)s OR (thread_id = %(thread_id)s AND expires_at <= now())
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

    def __init__(self, pool: AsyncConnectionPool[Any], *, lease_seconds: float = LEASE_SECONDS) -> None:
        """Use `pool`, in autocommit, with rows as dicts; its owner closes it."""
        self._pool = pool
        self._seconds = lease_seconds

    async def setup(self) -> None:
        """Create the tables; several processes may do it at once."""
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
    async def turn(self, thread_id: str) -> AsyncIterator[None]:
        """Wait until it is the caller's turn in `thread_id`, and hold it until the block ends.

        Raises:
            LeaseLostError: The database was out of reach for so long that another run has the turn; the block was cancelled.
        """
        given = {"thread_id": thread_id, "holder": uuid4(), "seconds": self._seconds}
        await self._wait(given)
        try:
            async with self._extending(given):
                yield
        finally:
            await asyncio.shield(self._run(END, given))

    async def _wait(self, given: dict[str, Any]) -> None:
        ticket = await self._run(TAKE_TICKET, given)
        assert ticket is not None  # an INSERT returns its row
        asked = {**given, **ticket}
        try:
            while await self._run(CLAIM, asked) is None:  # noqa: ASYNC110  # whose turn it is, other processes decide too
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            await asyncio.shield(self._run(GIVE_TICKET_BACK, asked))

    @asynccontextmanager
    async def _extending(self, given: dict[str, Any]) -> AsyncIterator[None]:
        block = asyncio.current_task()
        assert block is not None  # a coroutine runs in a task
        lost = False

        async def extend() -> None:
            nonlocal lost
            while not lost:
                await asyncio.sleep(self._seconds / 3)
                try:
                    async with self._pool.connection() as conn:
                        lost = (await conn.execute(EXTEND, given)).rowcount == 0
                except Error as error:  # the next time; until then nobody else has the turn, or it is lost
                    logger.warning("thread_turn_not_extended cause=%s", type(error).__name__)
            block.cancel()

        extending = asyncio.create_task(extend())
        try:
            yield
        except asyncio.CancelledError:
            if lost and block.uncancel() == 0:
                raise LeaseLostError from None
            raise
        finally:
            extending.cancel()
            await asyncio.wait([extending])

    async def _run(self, statement: LiteralString, given: dict[str, Any]) -> dict[str, Any] | None:
        async with self._pool.connection() as conn:
            cursor = await conn.execute(statement, given)
            row: dict[str, Any] | None = await cursor.fetchone() if cursor.description is not None else None
            return row
