"""Read entries of the trail, for whoever looks into it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.statements import fetch

PAGE = 2_000

_ENTRIES: LiteralString = """
SELECT
    user_key, number, CASE WHEN at BETWEEN '0001-01-02+00' AND '9999-12-31+00' THEN at END AS at, actor_kind, actor, action,
    success, data, counts, request_id, ip_address, user_agent, hash
FROM discreet.audit_entry e
WHERE {which}
  AND (%(since)s::timestamptz IS NULL OR at >= %(since)s) AND (%(until)s::timestamptz IS NULL OR at < %(until)s)
ORDER BY user_key, number
LIMIT %(limit)s
"""
"""Times beyond the years of Python would hide every other entry of their page."""


async def entries(
    works: Pool, *, user_key: UUID | None = None, since: datetime | None = None, until: datetime | None = None
) -> AsyncIterator[dict[str, Any]]:
    """Yield entries as rows, one chain after the other: of all, or of one person; from `since` on, before `until`.

    They are read a page at a time. `works` is a pool whose role sees all chains. `at` is None where a counterfeit has a time that
    Python has no object for.

    Raises:
        StorageError: The database failed.
    """
    async for rows in entry_pages(works, _ENTRIES, user_key=user_key, limit=PAGE, since=since, until=until):
        for row in rows:
            yield row


async def entry_pages(
    works: Pool, statement: LiteralString, *, user_key: UUID | None, limit: int, **asked: object
) -> AsyncIterator[list[dict[str, Any]]]:
    """Yield the rows of `statement` by `limit`: over entries `e` in the order of their keys, of which `{which}` says where to go on.

    Raises:
        StorageError: The database failed.
    """
    of_one: LiteralString = "true" if user_key is None else "e.user_key = %(user_key)s"
    which, given = of_one, {**asked, "user_key": user_key, "limit": limit}
    while rows := await fetch(works, statement.format(which=which), given):
        yield rows
        if len(rows) < limit:
            return
        which = f"{of_one} AND (e.user_key, e.number) > (%(after)s, %(number)s)"
        given |= {"after": rows[-1]["user_key"], "number": rows[-1]["number"]}
