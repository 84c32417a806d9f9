"""Keys of fixed size for names of any length."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncCursor

_PERSON: LiteralString = """
WITH found AS (
    SELECT user_key, memories FROM discreet.person WHERE user_id = %(name)s
), made AS (
    INSERT INTO discreet.person (user_id) SELECT %(name)s WHERE NOT EXISTS (SELECT FROM found)
    ON CONFLICT DO NOTHING
    RETURNING user_key, memories
)
SELECT user_key, memories FROM found UNION ALL SELECT user_key, memories FROM made
"""

_APPS: LiteralString = """
WITH given AS (
    SELECT name FROM unnest(%(names)s::text[]) AS g (name)
), found AS (
    SELECT app_name, app_key FROM discreet.app WHERE app_name = ANY (%(names)s)
), made AS (
    INSERT INTO discreet.app (app_name)
    SELECT name FROM given WHERE NOT EXISTS (SELECT FROM found WHERE app_name = name) ORDER BY name
    ON CONFLICT DO NOTHING
    RETURNING app_name, app_key
)
SELECT app_name, app_key FROM found UNION ALL SELECT app_name, app_key FROM made
"""


@dataclass(frozen=True)
class Person:
    """Whose memories are written."""

    user_key: int
    """Of `discreet.person`."""
    memories: int
    """Rows that they have."""


async def person_for(cursor: AsyncCursor[dict[str, Any]], user_id: str) -> Person:
    """Return the person `user_id`, made now if they are new."""
    while True:
        row = await (await cursor.execute(_PERSON, {"name": user_id})).fetchone()
        if row is not None:
            return Person(row["user_key"], row["memories"])
        # Another session made it since this statement began; the next statement sees it.


async def app_keys_for(cursor: AsyncCursor[dict[str, Any]], names: Collection[str]) -> dict[str, int]:
    """Return the keys of the applications `names`, made now if they are new."""
    while True:
        rows = await (await cursor.execute(_APPS, {"names": sorted(names)})).fetchall()
        if len(rows) == len(names):
            return {row["app_name"]: row["app_key"] for row in rows}


def digest(*parts: str) -> UUID:
    """Return 128 bits that stand for `parts` in an index: an entry holds 2,704 bytes, a name may be longer.

    No part but the last may hold NUL; a user_id never does.
    """
    return UUID(bytes=blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest())
