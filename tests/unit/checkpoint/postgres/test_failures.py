"""What becomes of the driver's errors."""

import pytest
from psycopg import DataError, OperationalError, errors
from psycopg_pool import PoolClosed, PoolTimeout

from discreet.checkpoint.postgres.failures import is_transient, translate
from discreet.errors import ServerFullError, StorageClosedError, StorageError, StorageUnavailableError


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (OperationalError("server closed the connection unexpectedly"), True),
        (errors.AdminShutdown(), True),
        (errors.IdleSessionTimeout(), True),
        (errors.ConnectionFailure(), True),
        (errors.SerializationFailure(), True),
        (errors.DeadlockDetected(), True),
        (PoolTimeout(), False),
        (PoolClosed(), False),
        (errors.QueryCanceled(), False),
        (errors.DiskFull(), False),
        (errors.UniqueViolation(), False),
        (DataError(), False),
        (ValueError(), False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_only_what_passes_is_worth_another_attempt(error, again):
    assert is_transient(error) is again


def test_a_server_that_answered_is_told_by_what_it_said():
    failure, cause = translate(errors.DiskFull("no room for a row of ann's"))
    assert (type(failure), cause) == (ServerFullError, None)
    assert "ann" not in str(failure)


@pytest.mark.parametrize("error", [OperationalError("gone"), PoolTimeout("late")])
def test_a_database_that_does_not_answer_is_named_as_such_with_its_cause(error):
    failure, cause = translate(error)
    assert type(failure) is StorageUnavailableError
    assert cause is error


def test_a_pool_that_is_closed_is_named_as_such():
    failure, cause = translate(PoolClosed("shut"))
    assert (type(failure), type(cause)) == (StorageClosedError, PoolClosed)


@pytest.mark.parametrize("kind", [DataError, errors.UniqueViolation, errors.UndefinedTable])
def test_refused_work_quotes_nothing(kind, token):
    failure, cause = translate(kind(token))
    assert type(failure) is StorageError
    assert cause is None
    assert token not in str(failure)
