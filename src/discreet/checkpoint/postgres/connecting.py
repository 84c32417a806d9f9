"""How upstream's savers want their connections."""

from __future__ import annotations

from typing import Any

from psycopg import AsyncConnection, Connection
from psycopg.rows import dict_row

from discreet.errors import ConfigurationError

CONNECTION: dict[str, Any] = {
    "autocommit": True,
    "prepare_threshold": 0,
    "row_factory": dict_row,
    "client_encoding": "UTF8",
}
"""For `connect`, and for a pool's `kwargs`."""

CONNECT_TIMEOUT_SECONDS = 10.0


def check_autocommit(conn: object) -> None:
    """Refuse a single connection on which nobody would ever commit. A pool commits when it gets its connection back.

    Raises:
        ConfigurationError: It is not in autocommit.
    """
    if isinstance(conn, (AsyncConnection, Connection)) and not conn.autocommit:
        raise ConfigurationError("The connection is not in autocommit. Open it with autocommit=True.")


def check_pool(pool: object, kind: type) -> None:
    """Refuse a pool of the other face.

    Raises:
        ConfigurationError: `pool` is no `kind`.
    """
    if not isinstance(pool, kind):
        raise ConfigurationError(
            f"This saver works on a {kind.__name__}, and this is a {type(pool).__name__}. RedactingSaver takes an async pool, "
            "such as that of open_storage; RedactingSyncSaver a blocking one. Beside open_storage_sync, whose pool belongs "
            "to an event loop in the background, take RedactingSyncSaver.from_conn_string(storage.dsn)."
        )
