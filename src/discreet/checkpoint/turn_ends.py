"""Wait for a database that is away when the end of a turn is to be stored: the turn is done, and nobody can undo it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from tenacity import AsyncRetrying, Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

from discreet.errors import (
    LoginRefusedError,
    ReadOnlyServerError,
    ServerFullError,
    StorageBusyError,
    StorageClosedError,
    StorageUnavailableError,
    UnverifiedServerError,
)

T = TypeVar("T")
R = TypeVar("R", AsyncRetrying, Retrying)

PATIENCE_SECONDS = 10.0
"""How long. A pool that knows that its server is away fails in half a second, so that turns don't begin late; a restart, a
fail-over or a host that stands still for a moment take longer. It is as long as one waits for a pool whose server answers."""
FIRST_WAIT_SECONDS = 0.05
MAX_WAIT_SECONDS = 0.5

NOT_STORED: Final = (
    "The turn is over, and its end was not stored. This process keeps it, and stores it with what the thread stores next. To repeat the "
    "call is another turn."
)
NOT_KEPT: Final = "The turn is over, and its end was not stored. To repeat the call is another turn."

_LASTING: Final = (StorageClosedError, LoginRefusedError, UnverifiedServerError, ReadOnlyServerError, ServerFullError)
"""What no wait of seconds mends: somebody has to do something."""


async def astore_end(put: Callable[[], Awaitable[T]]) -> T:
    """Return what `put` returns, which stores the end of a turn, after more attempts if need be.

    Raises:
        StorageUnavailableError: The database was away for longer, or is away for a reason that a wait doesn't mend: then at once. It is of
            the class that says the reason.
    """
    retrying = _patient(AsyncRetrying)
    try:
        return await retrying(put)
    except StorageUnavailableError as error:
        raise _told(error) from error


def store_end(put: Callable[[], T]) -> T:
    """Do what `astore_end` does, blocking."""
    retrying = _patient(Retrying)
    try:
        return retrying(put)
    except StorageUnavailableError as error:
        raise _told(error) from error


def _patient(kind: type[R]) -> R:
    return kind(
        retry=retry_if_exception(_is_away),
        stop=stop_after_delay(PATIENCE_SECONDS),
        wait=wait_random_exponential(multiplier=FIRST_WAIT_SECONDS, max=MAX_WAIT_SECONDS),
        reraise=True,
    )


def _is_away(error: BaseException) -> bool:
    """Return whether to wait. Where others have all connections one has waited in line already."""
    return isinstance(error, StorageUnavailableError) and not isinstance(error, (StorageBusyError, *_LASTING))


def _told(error: StorageUnavailableError) -> StorageUnavailableError:
    if isinstance(error, StorageBusyError):
        return error
    if type(error) is StorageUnavailableError:
        return StorageUnavailableError(f"The database can't be reached. {NOT_STORED}")
    return type(error)(f"{error} {NOT_KEPT if isinstance(error, ReadOnlyServerError) else NOT_STORED}")
