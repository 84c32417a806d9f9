"""Make sure that all processes of a database make the keys of users with the same identity key."""

from __future__ import annotations

from typing import LiteralString

from discreet.access.user_keys import UserKeys
from discreet.errors import ConfigurationError
from discreet.storage.database.connecting.pool import Pool

_READ: LiteralString = "SELECT fingerprint FROM discreet.identity_key"

_SET: LiteralString = "INSERT INTO discreet.identity_key (fingerprint) VALUES (%s) ON CONFLICT DO NOTHING"


async def check_identity_key(pool: Pool, keys: UserKeys) -> None:
    """Compare this process's identity key with the database's; the first process of a database sets it.

    Raises:
        ConfigurationError: It is another one: nobody would find what is theirs.
    """
    async with pool.connection() as conn, conn.cursor() as cursor:
        row = await (await cursor.execute(_READ)).fetchone()
        if row is None:
            await cursor.execute(_SET, (keys.fingerprint,))
            row = await (await cursor.execute(_READ)).fetchone()
    if row is None or row["fingerprint"] != keys.fingerprint:
        raise ConfigurationError(
            "The rows of this database belong to users whose keys were made with another identity key than this process "
            "has, so it would find nothing of theirs. Set DISCREET_IDENTITY_KEY to that key: it is what the first process "
            "was started with, else in the file identity.key of that process's DISCREET_DATA_DIR."
        )
