"""Change tables one process at a time, beside others that read and write them.

*One at a time*: LangGraph's own migrations take no lock and race; three of four first starts at once failed with a
UniqueViolation. The lock belongs to a transaction that does nothing else, so that it works behind a pooler too, and goes
with the connection. It is polled, not waited for: CREATE INDEX CONCURRENTLY waits for every transaction that has a snapshot,
so for one that waits for the lock, but not for one that idles with it.

*Beside readers*: whoever waits to change a table keeps all who come after it waiting, to read too. So a transaction that
changes tables begins with `PATIENCE`, gives up soon, and `lock_retries` repeats it after a pause in which they go on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, LiteralString

from psycopg import AsyncConnection, Connection, IsolationLevel
from psycopg.errors import DeadlockDetected, InternalError_, LockNotAvailable
from psycopg.rows import scalar_row
from tenacity import RetryCallState, retry_if_exception, stop_after_delay, wait_random_exponential

from discreet.errors import MigrationError

SETUP_LOCK = 0x4449_5343_5245_4554
"""Key of the advisory lock: "DISCREET" in ASCII."""
TIMEOUT_SECONDS = 60.0
"""How long one process waits for another, and for the locks of those who use the tables. All tables of an empty database
take 0.3 s."""
POLL_SECONDS = 0.05
MAX_PAUSE_SECONDS = 5.0
"""Between two attempts, at most. The first pause is some tenths of a second; all are random, so that processes spread."""

_TRY_LOCK = "SELECT pg_try_advisory_xact_lock(%s)"
_MAY_IDLE = "SET LOCAL idle_in_transaction_session_timeout = 0"
"""Building an index may take longer than a server lets a transaction idle.

It also ends the SELECT before it, whose portal would keep a snapshot until the next statement (PostgreSQL docs,
"Extended Query").
"""
_MAY_LAST = "SELECT set_config('transaction_timeout', '0', true) FROM pg_settings WHERE name = 'transaction_timeout'"
"""PostgreSQL 17 and newer have it."""

PATIENCE: Final[LiteralString] = """
SELECT set_config(name, CASE name WHEN 'lock_timeout' THEN '2s' ELSE '0' END, true)
FROM pg_settings WHERE name IN ('lock_timeout', 'statement_timeout', 'transaction_timeout')
"""
"""First in a transaction that changes tables: it waits two seconds for a lock, which is how long it may keep others
waiting, and works as long as it has to, whatever a role's settings say of its statements."""

WHO_WAITS = (
    "SELECT pid, pg_blocking_pids(pid), query FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0"
)
"""For the message to people."""


@asynccontextmanager
async def setup_lock(conn: AsyncConnection[Any], seconds: float | None = None) -> AsyncIterator[None]:
    """Hold the lock in a transaction of `conn`, which is in autocommit and stays idle: another connection does the work.

    Raises:
        MigrationError: Another process held it for `seconds`, by default a minute.
    """
    seconds = TIMEOUT_SECONDS if seconds is None else seconds
    deadline = time.monotonic() + seconds
    await conn.set_isolation_level(IsolationLevel.READ_COMMITTED)  # any stricter one would keep a snapshot
    while True:
        async with conn.transaction(), conn.cursor(row_factory=scalar_row) as cursor:
            if await (await cursor.execute(_TRY_LOCK, (SETUP_LOCK,), prepare=False)).fetchone():
                await cursor.execute(_MAY_LAST)
                await cursor.execute(_MAY_IDLE)
                yield
                return
        _check(deadline, seconds)
        await asyncio.sleep(POLL_SECONDS)


@contextmanager
def sync_setup_lock(conn: Connection[Any]) -> Iterator[None]:
    """Do what `setup_lock` does, blocking."""
    seconds = TIMEOUT_SECONDS
    deadline = time.monotonic() + seconds
    conn.isolation_level = IsolationLevel.READ_COMMITTED
    while True:
        with conn.transaction(), conn.cursor(row_factory=scalar_row) as cursor:
            if cursor.execute(_TRY_LOCK, (SETUP_LOCK,), prepare=False).fetchone():
                cursor.execute(_MAY_LAST)
                cursor.execute(_MAY_IDLE)
                yield
                return
        _check(deadline, seconds)
        time.sleep(POLL_SECONDS)


def lock_retries(what: str, seconds: float | None = None) -> dict[str, Any]:
    """Return how tenacity repeats a change of tables that others use, for `seconds`, by default a minute.

    `what` is to be changed, for the MigrationError at the end, which tells how to find out who is in the way.
    """
    seconds = TIMEOUT_SECONDS if seconds is None else seconds

    def give_up(state: RetryCallState) -> None:
        raise _blocked(what, seconds, state.attempt_number) from None

    return {
        "retry": retry_if_exception(_is_of_others),
        "stop": stop_after_delay(seconds),
        "wait": wait_random_exponential(multiplier=0.2, max=MAX_PAUSE_SECONDS),
        "retry_error_callback": give_up,
    }


def _is_of_others(error: BaseException) -> bool:
    """Tell whether others changed the same. Of roles, which all databases of a server share, PostgreSQL says so in words alone."""
    if isinstance(error, InternalError_):
        return "concurrently updated" in str(error)
    return isinstance(error, (LockNotAvailable, DeadlockDetected))


def _blocked(what: str, seconds: float, attempts: int) -> MigrationError:
    return MigrationError(
        f"{what} could not be changed in {seconds:g} s: in each of {attempts} attempts somebody else had a lock on a table. "
        f"While the next start waits, {WHO_WAITS} shows who waits for whom. Let those transactions end, or end them "
        "(pg_terminate_backend), and start again; what was done before stays."
    )


def _check(deadline: float, seconds: float) -> None:
    if time.monotonic() > deadline:
        raise MigrationError(
            f"Another process has been creating or changing tables of this database for over {seconds:g} s. "
            "Wait for it, or end its session in pg_stat_activity, then start again."
        )
