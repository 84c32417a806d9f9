"""Reach a PostgreSQL server and check that it can do what is asked of it."""

from __future__ import annotations

from typing import Any

from psycopg import AsyncConnection, ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow

from discreet.errors import ConfigurationError, UnsupportedServerError

MIN_POSTGRES = 14
"""The oldest release that is still maintained. The SQL itself needs 12 (MATERIALIZED); 16 and 18 are tested."""
MIN_PGVECTOR = (0, 7)
"""The first release with halfvec, sparsevec and binary_quantize."""

CONNECT_SECONDS = 10
"""How long a server may take to answer, unless the DSN sets `connect_timeout`."""

_PGVECTOR_VERSIONS = "SELECT installed_version, default_version FROM pg_available_extensions WHERE name = 'vector'"

_SHOW_VECTOR_TYPES = """
SELECT set_config('search_path', concat_ws(', ', nullif(current_setting('search_path'), ''), quote_ident(n.nspname)), false)
FROM pg_extension e
JOIN pg_type t ON t.typname = 'vector' AND t.typnamespace = e.extnamespace
JOIN pg_namespace n ON n.oid = e.extnamespace
WHERE e.extname = 'vector' AND NOT pg_type_is_visible(t.oid)
"""


def connection_string(dsn: str) -> str:
    """Return `dsn` for the driver, with a time-out unless it sets its own.

    Raises:
        ConfigurationError: It can't be read; the message leaves it out, it may hold a password.
    """
    try:
        given = conninfo_to_dict(dsn)
    except ProgrammingError:
        # Not chained: the driver quotes the part that it can't read.
        raise ConfigurationError(
            "The PostgreSQL DSN can't be read. It looks like postgresql://user:password@host:5432/database."
        ) from None
    return dsn if "connect_timeout" in given else make_conninfo(dsn, connect_timeout=CONNECT_SECONDS)


async def connect(dsn: str) -> AsyncConnection[TupleRow]:
    """Open one connection of its own, in autocommit."""
    return await AsyncConnection.connect(connection_string(dsn), autocommit=True)


async def check_server(conn: AsyncConnection[Any]) -> None:
    """Check the versions of PostgreSQL and pgvector.

    Raises:
        UnsupportedServerError: One is too old, or pgvector is not there; the message says what to do.
    """
    if conn.info.server_version < MIN_POSTGRES * 10_000:
        raise UnsupportedServerError(
            f"PostgreSQL {conn.info.server_version // 10_000} is too old: Discreet needs {MIN_POSTGRES} or newer."
        )
    row = await (await conn.execute(_PGVECTOR_VERSIONS)).fetchone()
    if row is None:
        raise UnsupportedServerError(
            "This PostgreSQL server has no pgvector. Install it (https://github.com/pgvector/pgvector#installation), "
            "or unset DISCREET_POSTGRES_DSN to use the embedded server."
        )
    installed, offered = row
    version = installed or offered
    if _numbers(version) < MIN_PGVECTOR:
        update = (
            "run ALTER EXTENSION vector UPDATE in this database" if _numbers(offered) >= MIN_PGVECTOR else "update it"
        )
        raise UnsupportedServerError(f"pgvector {version} is too old: Discreet needs 0.7 or newer; {update}.")


async def show_vector_types(conn: AsyncConnection[Any]) -> None:
    """Let this session see pgvector's types and operators, in whichever schema an administrator put them."""
    await conn.execute(_SHOW_VECTOR_TYPES)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])
