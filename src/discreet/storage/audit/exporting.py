"""Read entries of the trail, for whoever looks into it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from discreet.driver_errors import storage_errors
from discreet.storage.database.connecting.pool import Pool

PAGE = 2_000

_ENTRIES: LiteralString = """
SELECT
    user_key, number, at, actor_kind, actor, action, success, data, counts, request_id, ip_address, user_agent, hash
FROM discreet.audit_entry
WHERE {which}
  AND (%(since)s::timestamptz IS NULL OR at >= %(since)s) AND (%(until)s::timestamptz IS NULL OR at < %(until)s)
ORDER BY user_key, number
LIMIT %(limit)s
"""


async def entries(
    works: Pool, *, user_key: UUID | None = None, since: datetime | None = None, until: datetime | None = None
) -> AsyncIterator[dict[str, Any]]:
    """Yield entries as rows, one chain after the other: of all, or of one person; from `since` on, before `until`.

    They are read a page at a time. `works` is a pool whose role sees all chains.

    Raises:
        StorageError: The database failed.
    """
    of_one: LiteralString = "true" if user_key is None else "user_key = %(user_key)s"
    asked: dict[str, Any] = {"since": since, "until": until, "limit": PAGE}
    if user_key is not None:
        asked["user_key"] = user_key
    which = of_one
    while True:
        with storage_errors():
            async with works.connection() as conn, conn.cursor(binary=True) as cursor:
                rows = await (await cursor.execute(_ENTRIES.format(which=which), asked)).fetchall()
        for row in rows:
            yield row
        if len(rows) < PAGE:
            return
        which = f"{of_one} AND (user_key, number) > (%(after)s, %(number)s)"
        asked |= {"after": rows[-1]["user_key"], "number": rows[-1]["number"]}
