"""Keys of fixed size for names of any length."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncCursor

PERSON: LiteralString = """
WITH found AS (
    SELECT user_key AS key FROM discreet.person WHERE user_id = %(name)s
), made AS (
    INSERT INTO discreet.person (user_id) SELECT %(name)s WHERE NOT EXISTS (SELECT FROM found)
    ON CONFLICT DO NOTHING
    RETURNING user_key AS key
)
SELECT key FROM found UNION ALL SELECT key FROM made
"""

APP: LiteralString = """
WITH found AS (
    SELECT app_key AS key FROM discreet.app WHERE app_name = %(name)s
), made AS (
    INSERT INTO discreet.app (app_name) SELECT %(name)s WHERE NOT EXISTS (SELECT FROM found)
    ON CONFLICT DO NOTHING
    RETURNING app_key AS key
)
SELECT key FROM found UNION ALL SELECT key FROM made
"""


async def key_for(cursor: AsyncCursor[dict[str, Any]], query: LiteralString, name: str) -> int:
    """Return the key of `name`, made now if it is new. `query` is `PERSON` or `APP`."""
    while True:
        row = await (await cursor.execute(query, {"name": name})).fetchone()
        if row is not None:
            key: int = row["key"]
            return key
        # Another session made it since this statement began; the next statement sees it.


def digest(*parts: str) -> UUID:
    """Return 128 bits that stand for `parts` in an index: an entry holds 2,704 bytes, a name may be longer."""
    return UUID(bytes=blake2b("\0".join(parts).encode(), digest_size=16).digest())
