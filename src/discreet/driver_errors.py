"""Turn the driver's errors into ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from psycopg import Error, OperationalError

from discreet.errors import StorageError, StorageUnavailableError


@contextmanager
def storage_errors() -> Iterator[None]:
    """Raise `StorageUnavailableError` for a connection that fails, `StorageError` for work that is refused.

    The driver's errors are not chained: the server quotes values of the failing row in them, and the driver parts of a
    connection string that it can't read. The SQLSTATE says what happened (PostgreSQL docs, appendix A).
    """
    try:
        yield
    except OperationalError as error:
        raise StorageUnavailableError(_because(StorageUnavailableError, error)) from None
    except Error as error:
        raise StorageError(_because(StorageError, error)) from None


def _because(kind: type[StorageError], error: Error) -> str:
    state = f", SQLSTATE {error.sqlstate}" if error.sqlstate else ""
    return f"{kind()} ({type(error).__name__}{state})"
