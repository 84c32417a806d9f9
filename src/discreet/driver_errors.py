"""Turn the driver's errors into ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from psycopg import Error, OperationalError
from psycopg_pool import PoolClosed, PoolTimeout

from discreet.errors import (
    AuditChainError,
    DiscreetError,
    LockTimeoutError,
    LoginRefusedError,
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
from discreet.metrics import storage_failures

_PREPARED: Final = (
    "Statements were prepared, and a pooler in transaction mode gave another server the next one. Set DISCREET_POOLER=true, "
    "and prepare_threshold=None for pools of your own."
)
_IDLE: Final = "The database ended a session that stood idle for longer than it allows; nothing was stored. Try again."

_CROSSED: Final = (
    "Two callers waited for each other's locks, or met in the same rows; nothing of this one was stored. Try again."
)

_STATES: Final[dict[str, tuple[type[StorageUnavailableError], str | None]]] = {
    "08P01": (PoolerError, None),
    "25006": (ReadOnlyServerError, None),
    "25P03": (StatementTimeoutError, f"{_IDLE} (idle_in_transaction_session_timeout)"),
    "25P04": (StatementTimeoutError, "The database ended a transaction that took longer than its transaction_timeout."),
    "26000": (PoolerError, _PREPARED),
    "28000": (LoginRefusedError, None),
    "28P01": (LoginRefusedError, None),
    "3D000": (LoginRefusedError, None),
    "40001": (LockTimeoutError, _CROSSED),
    "40P01": (LockTimeoutError, _CROSSED),
    "42P05": (PoolerError, _PREPARED),
    "53100": (ServerFullError, None),
    "53200": (ServerFullError, None),
    "53300": (TooManyConnectionsError, None),
    "55P03": (LockTimeoutError, None),
    "57014": (StatementTimeoutError, None),
    "57P01": (ServerRestartingError, None),
    "57P02": (ServerRestartingError, None),
    "57P03": (ServerRestartingError, None),
    "57P05": (StatementTimeoutError, f"{_IDLE} (idle_session_timeout)"),
}
"""By SQLSTATE (PostgreSQL docs, appendix A); a message where that of the class says too little. What PostgreSQL never sends for
work of ours, 08P01, comes from a pooler."""

_TAKEN: Final = "23505"
_ENTRIES: Final = "audit_entry"
"""The table whose place is taken only if somebody put a row there; on a cluster its shards have a number behind that name."""

_LIMITS: Final = "54"
"""SQLSTATEs of this class tell of work that is too large, and will be: an id that no index entry holds, for one."""

_LOST: Final = "The pooler lost its connection to PostgreSQL. Try again in a moment."

_POOLER_PHRASES: Final = {
    "query_wait_timeout": "The pooler had no server for this work within its query_wait_timeout. Raise its pool, or lower DISCREET_POOL_SIZE.",
    "no more connections allowed": "The pooler takes no more clients. Raise its max_client_conn, or lower DISCREET_POOL_SIZE.",
    "unsupported startup parameter": "The pooler refuses a parameter of the DSN. Take `options` out of it, or have ignore_startup_parameters name it.",
    "cannot connect to server": "The pooler answers and can't reach PostgreSQL. Its log says why.",
    "login has been failing": "The pooler answers and PostgreSQL refuses its login, or can't be reached. Its log says why; it tries again after its server_login_retry.",
    "server conn crashed": _LOST,
    "server connection closed": _LOST,
    "query_timeout": "The pooler ended work that took longer than its query_timeout.",
    "idle transaction timeout": "The pooler ended a transaction that stood idle for longer than its idle_transaction_timeout.",
    "client_idle_timeout": "The pooler closed a connection that stood idle for longer than its client_idle_timeout.",
    "no such database": "The pooler knows no database of this name. Check the DSN, and the pooler's list.",
    "statement pooling": "The pooler is in statement mode, which has no transactions. Set its pool_mode to transaction.",
    "pooler is shut": "The pooler is shutting down. Try again in a moment.",
}
"""How PgBouncer says it."""

_TLS: Final = "The database answers, and TLS with it fails. Check sslmode and the certificates that the DSN names."
_NO_TLS: Final = (
    "The database does not speak TLS, which the DSN's sslmode asks for. Turn it on there (ssl, in postgresql.conf)."
)
_AUTHORITY: Final = (
    "The database's certificate is signed by no authority that the DSN names. Name the one that signed it by "
    "sslrootcert=/path/authority.pem, or the system's own by sslrootcert=system; any other server than yours would be refused alike."
)
_NO_AUTHORITY: Final = (
    "The database can't be verified: the certificate of its authority can't be read here. Name it by "
    "sslrootcert=/path/authority.pem, or the system's own by sslrootcert=system."
)
_HOST: Final = (
    "The database's certificate is for another host name than the DSN's. Write the name that it has as host, with the address as "
    "hostaddr if need be; any other server than yours would be refused alike."
)

_LOGIN_PHRASES: Final[dict[str, tuple[type[StorageUnavailableError], str | None]]] = {
    "certificate verify failed": (UnverifiedServerError, _AUTHORITY),
    "does not match host name": (UnverifiedServerError, _HOST),
    "root certificate file": (UnverifiedServerError, _NO_AUTHORITY),
    "does not support ssl": (UnverifiedServerError, _NO_TLS),
    "too many clients": (TooManyConnectionsError, None),
    "too many connections": (TooManyConnectionsError, None),
    "connection slots are reserved": (TooManyConnectionsError, None),
    "the database system is": (ServerRestartingError, None),
    "terminating connection due to": (ServerRestartingError, None),
    "authentication failed": (LoginRefusedError, None),
    "no password supplied": (LoginRefusedError, None),
    "pg_hba.conf": (LoginRefusedError, None),
    "does not exist": (LoginRefusedError, None),
    "not permitted to log in": (LoginRefusedError, None),
    "permission denied for database": (LoginRefusedError, None),
    "not currently accepting connections": (LoginRefusedError, None),
    "configuration parameter": (LoginRefusedError, "The database refuses a parameter of the DSN. Check its `options`."),
    "invalid value for parameter": (LoginRefusedError, "The database refuses a value in the DSN. Check its `options`."),
    "certificate": (LoginRefusedError, _TLS),
    "session is read-only": (ReadOnlyServerError, None),
    "not in hot standby mode": (
        LoginRefusedError,
        "No host of the DSN is a standby, which its target_session_attrs asks for.",
    ),
    "in hot standby mode": (ReadOnlyServerError, None),
}
"""How a server refuses a connection: libpq passes no SQLSTATE then, and English is what servers speak unless told otherwise."""


@contextmanager
def storage_errors() -> Iterator[None]:
    """Raise the `StorageUnavailableError` that says what is the matter, `StorageError` for work that is refused.

    The driver's errors are not chained: the server quotes values of the failing row in them, and the driver parts of a
    connection string that it can't read. The SQLSTATE says what happened (PostgreSQL docs, appendix A).
    """
    try:
        yield
    except Error as error:
        failure = explain(error)
        storage_failures.labels(code=failure.code).inc()
        raise failure from None


def explain(error: Exception) -> StorageError:
    """Return what to raise instead of an error of the driver's, of its pool's, or of what makes connections."""
    if isinstance(error, PoolTimeout):
        if not isinstance(error.__cause__, Exception):
            return StorageBusyError(0)
        error = error.__cause__
    if isinstance(error, DiscreetError):
        return error if isinstance(error, StorageError) else StorageUnavailableError(str(error))
    state = error.sqlstate if isinstance(error, Error) else None
    kind, says = _known(state, str(error).lower())
    if isinstance(error, PoolClosed):
        kind = StorageClosedError
    elif isinstance(error, Error) and state == _TAKEN and (error.diag.table_name or "").startswith(_ENTRIES):
        kind = AuditChainError
    elif kind is None and (not isinstance(error, OperationalError) or (state or "").startswith(_LIMITS)):
        kind = StorageError
    elif kind is None and state is not None:
        kind, says = StorageUnavailableError, "The database answered and could not do the work now."
    kind = kind or StorageUnavailableError
    return kind(f"{says or kind()} ({type(error).__name__}{f', SQLSTATE {state}' if state else ''})")


def _known(state: str | None, said: str) -> tuple[type[StorageError] | None, str | None]:
    """Return the class and the message, None for that of the class. What was `said` is looked at, and never repeated."""
    if state in {None, "08P01"}:
        for phrase, message in _POOLER_PHRASES.items():
            if phrase in said:
                return PoolerError, message
    if state is None:
        return next((told for phrase, told in _LOGIN_PHRASES.items() if phrase in said), (None, None))
    return _STATES.get(state, (None, None))
