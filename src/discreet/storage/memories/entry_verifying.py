"""Verify that users have the memories that were counted: that none is missing, and none was added past Discreet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, LiteralString
from uuid import UUID

from discreet.access.user_keys import UserKeys
from discreet.driver_errors import storage_errors
from discreet.storage.database.connecting.pool import Connection, Pool
from discreet.storage.memories.entry_counts import EntryCount, count_of

PEOPLE: Final = 500
"""Looked at in one transaction."""

ROWS: Final = 5_000
"""Ids read at a time."""

MAX_FINDINGS: Final = 1_000
"""That a report lists; all are counted."""

_PEOPLE: LiteralString = """
SELECT u.user_key, coalesce(m.memories, 0) AS memories, m.entries
FROM discreet.users u
LEFT JOIN discreet.user_memories m ON m.user_key = u.user_key
WHERE (%(after)s::uuid IS NULL OR u.user_key > %(after)s) AND (%(user_key)s::uuid IS NULL OR u.user_key = %(user_key)s)
ORDER BY u.user_key
LIMIT %(limit)s
"""

_ENTRIES: LiteralString = "SELECT user_key, entry_id FROM discreet.memory WHERE user_key = ANY (%(user_keys)s)"

_ERASURE: LiteralString = "SELECT FROM discreet.erasure WHERE done_at IS NULL LIMIT 1"

_SNAPSHOT: LiteralString = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
"""Memories and counts are those of one moment, whoever writes meanwhile."""


@dataclass(frozen=True, kw_only=True)
class WrongCount:
    """A user whose memories are not those that were counted."""

    user_key: UUID
    problem: str
    counted: int
    there: int


@dataclass(kw_only=True)
class CountReport:
    """What came of it."""

    people: int = 0
    memories: int = 0
    found: int = 0
    """People whose memories are not those that were counted."""
    erasing: int = 0
    """People of whom that is so while an erasure is open: it may be what deletes them. Look again when it is done."""
    findings: list[WrongCount] = field(default_factory=list)
    """The first `MAX_FINDINGS`."""


async def verify_counts(works: Pool, keys: UserKeys, *, user_key: UUID | None = None) -> CountReport:
    """Verify the memories of all users, or one; `works` sees all of them. Writers go on meanwhile.

    Raises:
        StorageError: The database failed.
    """
    report = CountReport()
    given: dict[str, Any] = {"user_key": user_key, "limit": PEOPLE, "after": None}
    with storage_errors():
        while True:
            async with works.connection() as conn, conn.transaction():
                await conn.execute(_SNAPSHOT)
                last = await _page(conn, keys, given, report)
            if last is None:
                return report
            given["after"] = last


async def _page(conn: Connection, keys: UserKeys, given: dict[str, Any], report: CountReport) -> UUID | None:
    """Verify the next users; return the last of them, None if there are no more."""
    async with conn.cursor(binary=True) as cursor:
        people = await (await cursor.execute(_PEOPLE, given)).fetchall()
        is_erasing = await (await cursor.execute(_ERASURE)).fetchone() is not None
    there = {row["user_key"]: EntryCount(row["user_key"]) for row in people}
    async with conn.cursor("entries", binary=True) as cursor:
        await cursor.execute(_ENTRIES, {"user_keys": list(there)})
        while rows := await cursor.fetchmany(ROWS):
            for row in rows:
                there[row["user_key"]] = there[row["user_key"]].plus(keys, [row["entry_id"]])
    for row in people:
        found = there[row["user_key"]]
        report.people += 1
        report.memories += found.number
        if (problem := _problem(count_of(keys, row["user_key"], row["memories"], row["entries"]), found)) is None:
            continue
        if is_erasing:
            report.erasing += 1
            continue
        report.found += 1
        if len(report.findings) < MAX_FINDINGS:
            counted = row["memories"]
            report.findings.append(
                WrongCount(user_key=row["user_key"], problem=problem, counted=counted, there=found.number)
            )
    return people[-1]["user_key"] if len(people) == given["limit"] else None


def _problem(counted: EntryCount | None, there: EntryCount) -> str | None:
    if counted is None:
        return "The count was changed, or taken away."
    if counted == there:
        return None
    if counted.number > there.number:
        return "Memories are missing."
    if counted.number < there.number:
        return "There are memories that were not counted."
    return "There are other memories than those that were counted."
