"""Check that a PostgreSQL server can do what is asked of it."""

from __future__ import annotations

from typing import Any

from psycopg import AsyncConnection

from discreet.errors import UnsupportedServerError
from discreet.leases import check_encoding

MIN_POSTGRES = 14
"""The oldest release that is still maintained. The SQL itself needs 12 (MATERIALIZED); 16 and 18 are tested."""
MIN_PGVECTOR = (0, 7)
"""The first release with halfvec, sparsevec and binary_quantize."""

_PGVECTOR_VERSIONS = "SELECT installed_version, default_version FROM pg_available_extensions WHERE name = 'vector'"


async def check_server(conn: AsyncConnection[Any]) -> None:
    """Check the versions of PostgreSQL and pgvector, and the database's encoding.

    Raises:
        UnsupportedServerError: One is too old, pgvector is not there, or it is not UTF-8; the message says what to do.
    """
    if conn.info.server_version < MIN_POSTGRES * 10_000:
        raise UnsupportedServerError(
            f"PostgreSQL {conn.info.server_version // 10_000} is too old: Discreet needs {MIN_POSTGRES} or newer."
        )
    check_encoding(conn)
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


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])
