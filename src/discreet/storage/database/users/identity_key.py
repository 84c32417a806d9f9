"""Make sure that all processes of a database make the keys of users with the same identity key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, LiteralString

from psycopg import AsyncConnection
from psycopg.rows import tuple_row

from discreet.access.user_keys import UserKeys
from discreet.errors import ConfigurationError
from discreet.storage.database.connecting.pool import Pool

_READ: LiteralString = "SELECT fingerprint FROM discreet.identity_key"

OTHER_KEY: Final = (
    "The rows of this database belong to users whose keys were made with another identity key than this process "
    "has, so it would find nothing of theirs. Set DISCREET_IDENTITY_KEY to that key: it is what the first process "
    "was started with, else in the file identity.key of that process's DISCREET_DATA_DIR."
)

_SET: LiteralString = """
WITH bound AS (INSERT INTO discreet.identity_key (fingerprint) VALUES (%(fingerprint)s) ON CONFLICT DO NOTHING RETURNING only_row)
INSERT INTO discreet.audit_mark (seal_number, seal_hash, hash)
SELECT %(seal_number)s, %(seal_hash)s, %(hash)s FROM bound
ON CONFLICT DO NOTHING
"""
"""Both or neither: a mark that is missing later was taken away."""


async def check_identity_key(pool: Pool, keys: UserKeys, *, mark: Mapping[str, Any]) -> None:
    """Compare this process's identity key with the database's; the first process of a database sets it, and the audit trail's first `mark`.

    Raises:
        ConfigurationError: It is another one: nobody would find what is theirs.
    """
    async with pool.connection() as conn, conn.cursor() as cursor:
        row = await (await cursor.execute(_READ)).fetchone()
        if row is None:
            await cursor.execute(_SET, {**mark, "fingerprint": keys.fingerprint})
            row = await (await cursor.execute(_READ)).fetchone()
    if row is None or row["fingerprint"] != keys.fingerprint:
        raise ConfigurationError(OTHER_KEY)


async def has_other_key(conn: AsyncConnection[Any], keys: UserKeys | None) -> bool:
    """Return whether the users of a database are known by another key than `keys`, or by one where there are none here."""
    async with conn.cursor(row_factory=tuple_row) as cursor:
        row = await (await cursor.execute(_READ)).fetchone()
    return row is not None and (keys is None or row[0] != keys.fingerprint)
