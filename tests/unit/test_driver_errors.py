"""What a server, a pooler or a pool says becomes the error that says what to do, and nothing is repeated of it."""

import psycopg
import pytest
from psycopg import errors
from psycopg_pool import PoolClosed, PoolTimeout

from discreet.driver_errors import explain, storage_errors
from discreet.errors import (
    LockTimeoutError,
    LoginRefusedError,
    MissingDependencyError,
    PoolerError,
    ReadOnlyServerError,
    ServerFullError,
    ServerRestartingError,
    StatementTimeoutError,
    StorageBusyError,
    StorageClosedError,
    StorageError,
    StorageUnavailableError,
    TooManyConnectionsError,
    UnverifiedServerError,
)

REFUSED = 'connection failed: connection to server at "10.0.0.1", port 5432 failed: '


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (errors.QueryCanceled("x"), StatementTimeoutError, "statement_timeout"),
        (errors.IdleInTransactionSessionTimeout("x"), StatementTimeoutError, "idle_in_transaction"),
        (errors.LockNotAvailable("x"), LockTimeoutError, "lock"),
        (errors.DeadlockDetected("x"), LockTimeoutError, "each other"),
        (errors.SerializationFailure("x"), LockTimeoutError, "same rows"),
        (errors.ProgramLimitExceeded("x"), StorageError, "54000"),
        (errors.AdminShutdown("x"), ServerRestartingError, "administrator"),
        (errors.CrashShutdown("x"), ServerRestartingError, "stopping"),
        (errors.CannotConnectNow("x"), ServerRestartingError, "starting"),
        (errors.TooManyConnections("x"), TooManyConnectionsError, "max_connections"),
        (errors.ReadOnlySqlTransaction("x"), ReadOnlyServerError, "primary"),
        (errors.DiskFull("x"), ServerFullError, "disk"),
        (errors.InvalidSqlStatementName("x"), PoolerError, "DISCREET_POOLER=true"),
        (errors.DuplicatePreparedStatement("x"), PoolerError, "DISCREET_POOLER=true"),
        (errors.ProtocolViolation("FATAL:  query_wait_timeout"), PoolerError, "query_wait_timeout"),
        (
            errors.ProtocolViolation("FATAL:  transaction blocks not allowed in statement pooling mode"),
            PoolerError,
            "pool_mode",
        ),
        (errors.ProtocolViolation("FATAL:  something new"), PoolerError, "pooler"),
        (errors.InvalidPassword("x"), LoginRefusedError, "password"),
        (errors.SystemError("x"), StorageUnavailableError, "answered"),
        (
            psycopg.OperationalError(f"{REFUSED}FATAL:  sorry, too many clients already"),
            TooManyConnectionsError,
            "pooler",
        ),
        (
            psycopg.OperationalError(f"{REFUSED}FATAL:  the database system is starting up"),
            ServerRestartingError,
            "moment",
        ),
        (
            psycopg.OperationalError(f'{REFUSED}FATAL:  password authentication failed for user "x"'),
            LoginRefusedError,
            "role",
        ),
        (psycopg.OperationalError(f'{REFUSED}FATAL:  database "x" does not exist'), LoginRefusedError, "database"),
        (
            psycopg.OperationalError(f'{REFUSED}FATAL:  permission denied for database "x"'),
            LoginRefusedError,
            "role",
        ),
        (
            psycopg.OperationalError(f'{REFUSED}FATAL:  unrecognized configuration parameter "x"'),
            LoginRefusedError,
            "options",
        ),
        (
            psycopg.OperationalError(f"{REFUSED}server does not support SSL, but SSL was required"),
            UnverifiedServerError,
            "sslmode",
        ),
        (
            psycopg.OperationalError(f"{REFUSED}SSL error: certificate verify failed"),
            UnverifiedServerError,
            "sslrootcert",
        ),
        (
            psycopg.OperationalError(f'{REFUSED}server certificate for "a" does not match host name "b"'),
            UnverifiedServerError,
            "host name",
        ),
        (
            psycopg.OperationalError(f'{REFUSED}root certificate file "/x" does not exist'),
            UnverifiedServerError,
            "sslrootcert",
        ),
        (
            psycopg.OperationalError(f'{REFUSED}could not load certificate file "/x"'),
            LoginRefusedError,
            "certificates",
        ),
        (
            psycopg.OperationalError(f"{REFUSED}SSL error: unexpected eof while reading"),
            StorageUnavailableError,
            "can't be reached",
        ),
        (
            psycopg.OperationalError(f"{REFUSED}FATAL:  no more connections allowed (max_client_conn)"),
            PoolerError,
            "max_client_conn",
        ),
        (
            psycopg.OperationalError(f"{REFUSED}FATAL:  unsupported startup parameter: options"),
            PoolerError,
            "ignore_startup",
        ),
        (psycopg.OperationalError(f"{REFUSED}session is read-only"), ReadOnlyServerError, "primary"),
        (psycopg.OperationalError(f"{REFUSED}Connection refused"), StorageUnavailableError, "can't be reached"),
        (
            errors.ProtocolViolation("server connection closed"),
            PoolerError,
            "lost",
        ),
        (
            psycopg.OperationalError("server closed the connection unexpectedly"),
            StorageUnavailableError,
            "can't be reached",
        ),
        (PoolClosed("x"), StorageClosedError, "closed"),
        (PoolTimeout("x"), StorageBusyError, "in use"),
        (errors.UniqueViolation("x"), StorageError, "23505"),
    ],
)
def test_each_failure_is_told_as_what_it_is(error, kind, says):
    found = explain(error)
    assert type(found) is kind
    assert says in str(found)
    assert ("can't be reached" in str(found)) == (says == "can't be reached")


def test_a_pools_time_out_is_told_by_what_it_comes_from():
    def waited(cause):
        error = PoolTimeout()
        error.__cause__ = cause
        return type(explain(error))

    assert waited(None) is StorageBusyError
    assert waited(psycopg.OperationalError("Connection refused")) is StorageUnavailableError
    assert waited(psycopg.OperationalError("FATAL:  too many connections for role")) is TooManyConnectionsError
    assert waited(LoginRefusedError("the provider failed")) is LoginRefusedError
    assert waited(MissingDependencyError("boto3")) is StorageUnavailableError


def test_nothing_of_what_was_said_is_repeated_or_chained():
    with pytest.raises(StatementTimeoutError) as caught, storage_errors():
        raise errors.QueryCanceled("the value of a row")
    assert "value" not in str(caught.value)
    assert caught.value.__suppress_context__
    assert "QueryCanceled, SQLSTATE 57014" in str(caught.value)
