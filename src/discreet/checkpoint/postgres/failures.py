"""Turn the driver's errors into ours, and say which of them are worth another attempt."""

from __future__ import annotations

from functools import partial
from typing import Any

from psycopg import AsyncConnection, Connection, Error, OperationalError, errors
from psycopg_pool import PoolTimeout
from tenacity import retry_if_exception, stop_after_delay, wait_random_exponential

from discreet.checkpoint.postgres.guard import GUARDS
from discreet.driver_errors import explain
from discreet.errors import (
    CheckpointError,
    DiscreetError,
    LeakBlockedError,
    StorageBusyError,
    StorageError,
    StorageUnavailableError,
)

RETRY_SECONDS = 5.0
"""After a restart of the server each dead connection of a pool costs one attempt."""
FIRST_WAIT_SECONDS = 0.02
MAX_WAIT_SECONDS = 0.5

_TRANSIENT = (
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.IdleSessionTimeout,
)
_CONNECTION_CLASS = "08"
"""PostgreSQL docs, appendix A."""


def is_worth_another_attempt(error: BaseException, *, on: object) -> bool:
    """Return whether work on this connection or pool may be repeated after `error`.

    A single connection doesn't come back, so there a lost one is not retried; nor is a pool's time-out, which has
    waited enough.
    """
    lost = isinstance(on, (AsyncConnection, Connection)) and on.closed
    return is_transient(error) and not lost


def retry_options(conn: object) -> dict[str, Any]:
    """Return how tenacity repeats work on `conn`: a transient failure for five seconds, no other.

    All of our statements may be repeated, also one that took effect just before its connection was lost.
    """
    return {
        "retry": retry_if_exception(partial(is_worth_another_attempt, on=conn)),
        "stop": stop_after_delay(RETRY_SECONDS),
        "wait": wait_random_exponential(multiplier=FIRST_WAIT_SECONDS, max=MAX_WAIT_SECONDS),
        "reraise": True,
    }


def is_transient(error: BaseException) -> bool:
    """Return whether the same work may succeed in a moment: the connection was lost, or others were in the way.

    Of a lost connection psycopg tells without a SQLSTATE, as an OperationalError of no closer type.
    """
    if isinstance(error, _TRANSIENT):
        return True
    if not isinstance(error, OperationalError):
        return False
    if error.sqlstate is None:
        return type(error) is OperationalError
    return error.sqlstate.startswith(_CONNECTION_CLASS)


def translate(error: Error) -> tuple[DiscreetError, Error | None]:
    """Return what to raise instead of `error`, and from what: the server quotes values in errors that refuse work."""
    state = f"{type(error).__name__}, SQLSTATE {error.sqlstate}" if error.sqlstate else type(error).__name__
    known = explain(error)
    if type(known) not in {StorageError, StorageUnavailableError, StorageBusyError}:  # it is told what is the matter
        return known, error if error.sqlstate is None else None
    if isinstance(error, OperationalError) and isinstance(known, StorageUnavailableError):
        return StorageUnavailableError(f"{_because(error)} ({state}). The call may be repeated."), error
    if isinstance(error, errors.CheckViolation) and error.diag.constraint_name in GUARDS.values():
        return LeakBlockedError(
            "PostgreSQL refused a tool message, a system message or a Send that was about to be written. "
            "It was not, and nothing else of this call was."
        ), None
    if isinstance(error, errors.UndefinedTable):
        return StorageError(
            "The checkpointer's tables are not there. Call its setup() once, before the first run."
        ), None
    if isinstance(error, errors.InsufficientPrivilege):
        return StorageError(
            "This role may not work on the checkpointer's tables. Have their owner GRANT it USAGE on their schema and SELECT, "
            "INSERT, UPDATE, DELETE on all tables in it."
        ), None
    return StorageError(f"PostgreSQL refused the work on a checkpoint ({state})."), None


def check_copied(*, copied: bool) -> None:
    """Look at what copying a thread returned.

    Raises:
        CheckpointError: Nothing was copied.
    """
    if not copied:
        raise CheckpointError("The thread was not copied: its target has messages of its own. Copy it to a new thread.")


def _because(error: OperationalError) -> str:
    if isinstance(error, PoolTimeout):
        return "No connection to the checkpointer's database came free in time"
    if error.sqlstate is not None:
        return "The checkpointer's database answered and could not do the work now"
    return "The checkpointer's database can't be reached, or broke off"
