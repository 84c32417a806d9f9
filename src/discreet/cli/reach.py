"""What `discreet doctor` finds at the other end of a connection."""

from __future__ import annotations

from typing import LiteralString

from psycopg import AsyncConnection
from psycopg.rows import TupleRow

from discreet.cli.checks import Check
from discreet.driver_errors import storage_errors
from discreet.errors import DiscreetError, ShortTermError
from discreet.settings import Settings
from discreet.storage import resolve_dsn
from discreet.storage.migrations import unapplied
from discreet.storage.redis_client import RedisClient
from discreet.storage.server import check_server, connect

_PGVECTOR: LiteralString = (
    "SELECT installed_version, default_version FROM pg_available_extensions WHERE name = 'vector'"
)


async def database_checks(dsn: str | None, settings: Settings) -> list[Check]:
    """Return what there is to say of the server, of pgvector and of the schema. Nothing is migrated."""
    embedded = dsn is None and settings.postgres_dsn is None
    found: list[Check] = []
    try:
        with storage_errors():
            async with resolve_dsn(dsn, settings) as target, await connect(target) as conn:
                where = "embedded" if embedded else "yours"
                found.append(Check("database", "ok", f"PostgreSQL {_version(conn)}, {where}."))
                found.append(await _pgvector(conn))
                found.append(await _schema(conn, embedded=embedded))
    except DiscreetError as error:
        found.append(Check(("database", "pgvector", "schema")[len(found)], "fail", str(error)))
    return found


async def redis_check(settings: Settings) -> Check:
    """Return whether Redis answers, if there is to be one."""
    if settings.redis_url is None:
        return Check("redis", "ok", "Not used.")
    try:
        client = RedisClient(settings.redis_url.get_secret_value())
        try:
            await client.command("PING")
        finally:
            await client.close()
    except ShortTermError:
        return Check("redis", "fail", "It can't be reached: check DISCREET_REDIS_URL, or unset it to use PostgreSQL.")
    except DiscreetError as error:
        return Check("redis", "fail", str(error))
    return Check("redis", "ok", "It answers.")


async def _pgvector(conn: AsyncConnection[TupleRow]) -> Check:
    await check_server(conn)
    row = await (await conn.execute(_PGVECTOR)).fetchone()
    installed, offered = row or (None, None)
    if installed is None:
        return Check("pgvector", "warn", f"{offered}, not created in this database yet: run `discreet migrate`.")
    return Check("pgvector", "ok", f"{installed}.")


async def _schema(conn: AsyncConnection[TupleRow], *, embedded: bool) -> Check:
    missing = await unapplied(conn)
    if not missing:
        return Check("schema", "ok", "Up to date.")
    say = f"Lacks {', '.join(missing)}: run `discreet migrate`. A start does it too, if its role may."
    return Check("schema", "warn" if embedded else "fail", say)


def _version(conn: AsyncConnection[TupleRow]) -> str:
    return f"{conn.info.server_version // 10_000}.{conn.info.server_version % 10_000}"
