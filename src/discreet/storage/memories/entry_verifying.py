"""Verify that users have the memories that were counted: that none is missing, and none was added past Discreet."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
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

_MISSING: Final = "Memories are missing."

_PEOPLE: LiteralString = """
SELECT u.user_key, coalesce(m.memories, 0) AS memories, m.entries
FROM discreet.users u
LEFT JOIN discreet.user_memories m ON m.user_key = u.user_key
WHERE (%(after)s::uuid IS NULL OR u.user_key > %(after)s) AND (%(user_key)s::uuid IS NULL OR u.user_key = %(user_key)s)
ORDER BY u.user_key
LIMIT %(limit)s
"""

_ENTRIES: LiteralString = "SELECT user_key, entry_id FROM discreet.memory WHERE user_key = ANY (%(user_keys)s)"

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
    erasing: list[UUID] = field(default_factory=list)
    """People whose memories are missing while an erasure of them is open, which deletes them: look again when it is done."""
    not_ours: list[UUID] = field(default_factory=list)
    """Erasures that are open, and were written or are held past Discreet: they excuse nobody's count."""
    findings: list[WrongCount] = field(default_factory=list)
    """The first `MAX_FINDINGS`."""


@dataclass(frozen=True, kw_only=True)
class Erasing:
    """What erasures say that are open."""

    people: Collection[UUID] = ()
    """Whose memories they delete without counting, until they are done."""
    not_ours: Mapping[UUID, UUID] = field(default_factory=dict)
    """The person of each erasure that was not begun by Discreet, by its key."""


ErasingOf = Callable[[Connection, Collection[UUID]], Awaitable[Erasing]]
"""Takes people whose memories are not those that were counted."""


async def verify_counts(
    works: Pool, keys: UserKeys, *, erasing: ErasingOf, user_key: UUID | None = None
) -> CountReport:
    """Verify the memories of all users, or one; `works` sees all of them. Writers go on meanwhile.

    `erasing` says which people are being erased, by plans that we have sealed: see `discreet.rights.erasure.plans`.

    Raises:
        StorageError: The database failed.
    """
    report = CountReport()
    given: dict[str, Any] = {"user_key": user_key, "limit": PEOPLE, "after": None}
    with storage_errors():
        while True:
            async with works.connection() as conn, conn.transaction():
                await conn.execute(_SNAPSHOT)
                last = await _page(conn, keys, erasing, given, report)
            if last is None:
                return report
            given["after"] = last


async def _page(
    conn: Connection, keys: UserKeys, erasing: ErasingOf, given: dict[str, Any], report: CountReport
) -> UUID | None:
    """Verify the next users; return the last of them, None if there are no more."""
    async with conn.cursor(binary=True) as cursor:
        people = await (await cursor.execute(_PEOPLE, given)).fetchall()
    there = {row["user_key"]: EntryCount(row["user_key"]) for row in people}
    async with conn.cursor("entries", binary=True) as cursor:
        await cursor.execute(_ENTRIES, {"user_keys": list(there)})
        while rows := await cursor.fetchmany(ROWS):
            for row in rows:
                there[row["user_key"]] = there[row["user_key"]].plus(keys, [row["entry_id"]])
    wrong: dict[UUID, WrongCount] = {}
    for row in people:
        user_key, counted, found = row["user_key"], row["memories"], there[row["user_key"]]
        report.people += 1
        report.memories += found.number
        if problem := _problem(count_of(keys, user_key, counted, row["entries"]), found):
            wrong[user_key] = WrongCount(user_key=user_key, problem=problem, counted=counted, there=found.number)
    _add(report, wrong, await erasing(conn, wrong), given["user_key"])
    return people[-1]["user_key"] if len(people) == given["limit"] else None


def _add(report: CountReport, wrong: Mapping[UUID, WrongCount], erasing: Erasing, user_key: UUID | None) -> None:
    not_ours = [key for key, person in erasing.not_ours.items() if user_key in (None, person)]
    report.not_ours += [key for key in not_ours if key not in report.not_ours]
    for person, each in wrong.items():
        if person in erasing.people and each.problem == _MISSING:
            report.erasing.append(person)
            continue
        report.found += 1
        if len(report.findings) < MAX_FINDINGS:
            report.findings.append(each)


def _problem(counted: EntryCount | None, there: EntryCount) -> str | None:
    if counted is None:
        return "The count was changed, or taken away."
    if counted == there:
        return None
    if counted.number > there.number:
        return _MISSING
    if counted.number < there.number:
        return "There are memories that were not counted."
    return "There are other memories than those that were counted."
