"""Verify the trail: that every entry, every head, every seal and the mark is as it was written, and that none is missing."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, LiteralString
from uuid import UUID

from discreet.ports import NOBODY
from discreet.storage.audit.chains import ENTRY_COLUMNS, HEAD_COLUMNS, ChainWalk, Finding, Kind, begins_rightly
from discreet.storage.audit.digests import AFTER_BREAK, BEFORE_FIRST, AuditKey, digest_of_heads
from discreet.storage.audit.exporting import entry_pages
from discreet.storage.audit.marks import READ_MARK, Row, is_genuine
from discreet.storage.audit.trimming import FIRST_SEAL, TRIM
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.statements import fetch

PAGE = 2_000
"""Entries read by one statement. No statement is long, and none is open while nobody reads."""

SEALS = 20
"""Seals read at a time, each with its heads."""

SEALED_WITHIN: Final = timedelta(minutes=10)
"""That an entry has a seal, or it is a finding: what no seal covers can be taken away unseen. Sealing comes about once a minute; ten may be
missed, while processes or the database start anew."""

MAX_FINDINGS = 1_000
"""That a report lists; all are counted."""

_ENTRIES: LiteralString = f"""
SELECT {ENTRY_COLUMNS}, {HEAD_COLUMNS}
FROM discreet.audit_entry e
LEFT JOIN discreet.audit_chain c ON c.user_key = e.user_key
WHERE {{which}}
ORDER BY e.user_key, e.number
LIMIT %(limit)s
"""

_HEADS: LiteralString = f"""
SELECT c.user_key, {HEAD_COLUMNS}, c.is_sealed
FROM discreet.audit_chain c
WHERE {{which}}
ORDER BY c.user_key
LIMIT %(limit)s
"""

_SEALS: LiteralString = """
SELECT s.seal_number, s.at, s.heads, s.previous_hash, s.seal_hash, h.user_key, h.number, h.hash
FROM (
    SELECT seal_number, extract(epoch FROM at)::text AS at, heads, previous_hash, hash AS seal_hash
    FROM discreet.audit_seal
    WHERE seal_number >= %(first)s
    ORDER BY seal_number
    LIMIT %(limit)s
) s
LEFT JOIN discreet.audit_sealed_head h ON h.seal_number = s.seal_number
ORDER BY s.seal_number, h.user_key
"""
"""One row a head; of a seal without any, one row. In one statement: seals are trimmed meanwhile."""

_ORPHANS: LiteralString = """
SELECT h.user_key, h.seal_number
FROM discreet.audit_sealed_head h
WHERE NOT EXISTS (SELECT FROM discreet.audit_seal s WHERE s.seal_number = h.seal_number)
ORDER BY h.seal_number, h.user_key
LIMIT %(limit)s
"""

_HASHES: LiteralString = """
SELECT user_key, number, hash
FROM discreet.{table}
WHERE user_key = ANY (%(user_keys)s)
  AND (user_key, number) IN (SELECT k, n FROM unnest(%(keys)s::uuid[], %(numbers)s::bigint[]) AS sealed (k, n))
"""

_LAST_SEALED: LiteralString = """
SELECT k.user_key, h.number
FROM unnest(%(user_keys)s::uuid[]) AS k (user_key)
CROSS JOIN LATERAL (
    SELECT s.number FROM discreet.audit_sealed_head s WHERE s.user_key = k.user_key ORDER BY s.seal_number DESC LIMIT 1
) h
"""

_OLD: LiteralString = """
SELECT user_key
FROM discreet.audit_entry
WHERE user_key = ANY (%(user_keys)s)
  AND (user_key, number) IN (SELECT k, n FROM unnest(%(keys)s::uuid[], %(numbers)s::bigint[]) AS unsealed (k, n))
  AND at < %(before)s
"""

_BEGINNINGS: LiteralString = """
SELECT c.user_key, c.first_number, c.hash_before, c.beginning FROM discreet.audit_chain c WHERE c.user_key = ANY (%(user_keys)s)
"""

_WHO_HAS_SOME: LiteralString = "SELECT DISTINCT user_key FROM discreet.audit_entry WHERE user_key = ANY (%(user_keys)s)"

_TOTAL: LiteralString = """
SELECT greatest(0, sum(last_number::numeric - first_number + 1)) AS entries, count(*) FILTER (WHERE NOT is_sealed) AS unsealed
FROM discreet.audit_chain
"""
"""In numeric: a head that was tampered with may have any number, of which bigint has no sum."""

_FIRST_NUMBER = -(2**63)

_BROKEN: Final = "When this seal was made, the last one was not the one that the mark told of: seals were taken away, or the mark was."
_UNSEALED: Final = (
    "{chains} chains have entries that are older than {minutes} minutes and that no seal covers. Nothing seals them: start a server "
    "or `discreet worker` with a role that sees all users (docs/audit.md), or see its log for why sealing fails."
)


@dataclass(kw_only=True)
class Report:
    """What came of it."""

    chains: int = 0
    entries: int = 0
    seals: int = 0
    anchors: int = 0
    unsealed: int = 0
    """Chains whose last entries no seal covers yet: of them alone the end could be missing."""
    overdue: int = 0
    """Those of them whose entries should have a seal since long. That there are some is a finding."""
    found: int = 0
    """What is not as it was written."""
    findings: list[Finding] = field(default_factory=list)
    """The first `MAX_FINDINGS` of it."""


async def entries_there_are(works: Pool) -> int:
    """Return how many entries there are by the heads of the chains, for who shows how far a verification is.

    Raises:
        StorageError: The database failed.
    """
    [row] = await fetch(works, _TOTAL)
    return int(row["entries"])


async def verify(
    works: Pool,
    *,
    key: bytes,
    user_key: UUID | None = None,
    anchors: Iterable[tuple[int, bytes]] = (),
    now: datetime | None = None,
    advance: Callable[[int], None] = lambda _: None,
    page: int = PAGE,
) -> Report:
    """Verify all chains, or one person's and that of nobody, and all seals. Writers go on meanwhile.

    Args:
        works: A pool whose role sees all chains.
        key: The `audit_key` of `UserKeys`.
        user_key: Whose chain.
        anchors: Number and hash of seals that were kept elsewhere.
        now: When it is; None: what the clock says.
        advance: Told how many entries are verified.
        page: Entries read by one statement.

    Raises:
        StorageError: The database failed.
    """
    verification = _Verification(works, AuditKey(key), None if user_key is None else {NOBODY, user_key}, page)
    await verification.seals(dict(anchors))
    await verification.entries(advance)
    await verification.heads((now or datetime.now(UTC)) - SEALED_WITHIN)
    verification.gaps()
    [total] = await fetch(works, _TOTAL)
    verification.report.unsealed = total["unsealed"]
    return verification.report


class _Verification:
    def __init__(self, works: Pool, key: AuditKey, users: set[UUID] | None, page: int) -> None:
        self._works = works
        self._key = key
        self._users = users
        self._page = page
        self._first_seal: int | None = None
        self._last_seal = 0
        self._gaps: dict[int, str] = {}
        self._trimmed_to: set[int] = set()
        self.report = Report()

    async def seals(self, anchors: Mapping[int, bytes]) -> None:
        """Verify the seals and the mark, that what they cover is in the chains, and that those that were anchored are there."""
        before, expected, missing = BEFORE_FIRST, 1, dict(anchors)
        mark = await self._mark()
        async for row, heads in self._sealed():
            number = row["seal_number"]
            if self._first_seal is None:
                self._first_seal = number
            if number != expected:
                self._gaps[number] = f"Seals {expected} to {number - 1}, before this one, are missing."
                before = row["previous_hash"]
            if row["previous_hash"] == AFTER_BREAK:
                self._tell("seal", _BROKEN, number=number)
                before = AFTER_BREAK
            covered = digest_of_heads((head["user_key"], head["number"], head["hash"]) for head in heads)
            made = self._key.of_seal(number, row["at"], len(heads), covered, before)
            if row["previous_hash"] != before or row["seal_hash"] != made or row["heads"] != len(heads):
                self._tell("seal", "The seal, or a head that it covers, was changed.", number=number)
            if missing.pop(number, row["seal_hash"]) != row["seal_hash"]:
                self._tell("anchor", "The seal is another than the one that was anchored.", number=number)
            if mark is not None and number == mark["seal_number"] and row["seal_hash"] != mark["seal_hash"]:
                self._tell("mark", "The seal is another than the mark tells of.", number=number)
            before, expected, self._last_seal = row["seal_hash"], number + 1, number
            self.report.seals += 1
            await self._covered(heads)
        await self._last_seals(mark)
        for number in sorted(number for number in missing if number >= (self._first_seal or 0)):
            self._tell("anchor", "The seal was anchored and is missing, with all that came after it.", number=number)
        self.report.anchors = len(anchors)
        for row in await fetch(self._works, _ORPHANS, {"limit": MAX_FINDINGS}):
            self._tell("seal", "There are heads of a seal that is missing.", number=row["seal_number"])

    async def _mark(self) -> Row | None:
        """Return the mark, if it is one that was made here; else tell of it."""
        [mark] = await fetch(self._works, READ_MARK)
        if mark["seal_number"] is None:
            if mark["is_bound"]:
                self._tell("mark", "The mark, which says which seal is the last, is missing.")
            return None
        if not is_genuine(mark, self._key):
            self._tell("mark", "The mark, which says which seal is the last, was changed.")
            return None
        return mark

    async def _last_seals(self, mark: Row | None) -> None:
        """Verify that no seal is missing at the end, by the mark as it was before they were read, nor, by the mark as it is, one too many."""
        if mark is None:
            return
        if mark["seal_number"] > self._last_seal:
            self._tell("mark", "By the mark this seal is the last. It is missing.", number=mark["seal_number"])
            return
        [now] = await fetch(self._works, READ_MARK)
        if now["seal_number"] is not None and now["seal_number"] < self._last_seal:
            self._tell("mark", "The mark tells of a former seal as the last.", number=now["seal_number"])

    async def entries(self, advance: Callable[[int], None]) -> None:
        """Verify the chains that have entries."""
        walk = ChainWalk(self._key)
        for user_key in [None] if self._users is None else sorted(self._users):
            async for rows in entry_pages(self._works, _ENTRIES, user_key=user_key, limit=self._page):
                found: list[Finding] = []
                for row in rows:
                    found += walk.step(row)
                    if walk.is_sound and row["user_key"] == NOBODY and row["action"] == TRIM:
                        self._trimmed_to.add(json.loads(row["counts"])[FIRST_SEAL])
                await self._add_those_of_chains(found)
                self.report.entries += len(rows)
                advance(self.report.entries)
        await self._add_those_of_chains([*walk.end()])
        self.report.chains = walk.chains

    async def heads(self, before: datetime) -> None:
        """Verify the heads of chains without entries, that those are sealed that say so, and all that are from `before` then."""
        async for rows in self._pages_of_heads():
            last = {(row["user_key"], row["last_number"]): row for row in rows}
            said = [place for place, row in last.items() if row["is_sealed"]]
            sealed = await self._hashes("audit_sealed_head", said)
            there = await self._hashes("audit_entry", list(last))  # later: entries are trimmed before their seals
            for place in said:
                if place in there and last[place]["last_hash"] not in sealed.get(place, ()):
                    self._tell("head", "The head is said to be sealed, and no seal covers it.", place[0])
            await self._ended([place[0] for place in last if place not in there])
            self.report.overdue += await self._old(rows, before)
        if self.report.overdue:
            minutes = SEALED_WITHIN // timedelta(minutes=1)
            self._tell("unsealed", _UNSEALED.format(chains=self.report.overdue, minutes=minutes))

    async def _old(self, heads: Iterable[Row], before: datetime) -> int:
        """Return how many chains have an entry from before that time which no seal covers."""
        sealed = await fetch(self._works, _LAST_SEALED, {"user_keys": [head["user_key"] for head in heads]})
        last = {row["user_key"]: row["number"] for row in sealed}
        unsealed = {
            head["user_key"]: max(last.get(head["user_key"], 0) + 1, head["first_number"])
            for head in heads
            if head["last_number"] > last.get(head["user_key"], 0)
        }
        if not unsealed:
            return 0
        asked = {"user_keys": [*unsealed], "keys": [*unsealed], "numbers": [*unsealed.values()], "before": before}
        return len(await fetch(self._works, _OLD, asked))

    async def _ended(self, user_keys: list[UUID]) -> None:
        """Verify that chains without their last entry have none, because all of them were trimmed."""
        if not user_keys:
            return
        asked: dict[str, Any] = {"user_keys": user_keys, "limit": len(user_keys)}
        begun = {row["user_key"] for row in await fetch(self._works, _WHO_HAS_SOME, asked)}
        for row in await fetch(self._works, _HEADS.format(which="c.user_key = ANY (%(user_keys)s)"), asked):
            if row["user_key"] in begun:
                continue  # the walk along it has told of its end
            ended = (row["last_number"], row["last_hash"], row["first_at"])
            is_trimmed = row["beginning"] is not None and begins_rightly(row, self._key)
            if not is_trimmed or ended != (row["first_number"] - 1, row["hash_before"], None):
                self._tell("missing", "All entries are missing.", row["user_key"])
            self.report.chains += 1

    def gaps(self) -> None:
        """Verify that seals follow each other, from the first or from where they were trimmed, be it while they were read."""
        for number, problem in self._gaps.items():
            if number not in self._trimmed_to:
                self._tell("seal", problem, number=number)

    async def _covered(self, heads: Iterable[Mapping[str, Any]]) -> None:
        """Verify that the chains have the entries that a seal covers."""
        heads = [head for head in heads if self._users is None or head["user_key"] in self._users]
        there = await self._hashes("audit_entry", [(head["user_key"], head["number"]) for head in heads])
        gone = []
        for head in heads:
            place = head["user_key"], head["number"]
            if place not in there:
                gone.append(head)
            elif head["hash"] not in there[place]:
                self._tell("entry", "The entry is another than the one that was sealed.", *place)
        first = await self._first_numbers([head["user_key"] for head in gone])
        for head in gone:
            if head["number"] >= first.get(head["user_key"], 1):
                problem = "The entry was sealed and is missing, with all that came after it."
                self._tell("end", problem, head["user_key"], head["number"])

    async def _add_those_of_chains(self, findings: list[Finding]) -> None:
        """Add what was found along chains, but for ends that were trimmed away while we came along."""
        ends = [found.user_key for found in findings if found.kind == "end" and found.user_key is not None]
        first = await self._first_numbers(ends)
        for found in findings:
            begins = first.get(found.user_key, 1) if found.user_key is not None else 1
            if found.kind != "end" or found.number is None or found.number >= begins:
                self._add([found])

    async def _first_numbers(self, user_keys: list[UUID]) -> dict[UUID, int]:
        """Return with which entry chains begin now, of those that begin rightly."""
        if not user_keys:
            return {}
        rows = await fetch(self._works, _BEGINNINGS, {"user_keys": user_keys})
        return {row["user_key"]: row["first_number"] for row in rows if begins_rightly(row, self._key)}

    async def _hashes(self, table: LiteralString, places: list[tuple[UUID, int]]) -> dict[tuple[UUID, int], set[bytes]]:
        if not places:
            return {}
        keys, numbers = map(list, zip(*places, strict=True))
        asked = {"user_keys": list(set(keys)), "keys": keys, "numbers": numbers}
        found: dict[tuple[UUID, int], set[bytes]] = {}
        for row in await fetch(self._works, _HASHES.format(table=table), asked):
            found.setdefault((row["user_key"], row["number"]), set()).add(row["hash"])
        return found

    async def _sealed(self) -> AsyncIterator[tuple[Row, list[Row]]]:
        """Yield each seal with the heads that it covers."""
        first = _FIRST_NUMBER
        while rows := await fetch(self._works, _SEALS, {"first": first, "limit": SEALS}):
            for _, each in groupby(rows, itemgetter("seal_number")):
                heads: list[Row] = list(each)
                yield heads[0], heads if heads[0]["user_key"] is not None else []
            first = rows[-1]["seal_number"] + 1

    async def _pages_of_heads(self) -> AsyncIterator[list[dict[str, Any]]]:
        which: LiteralString = "true" if self._users is None else "c.user_key = ANY (%(user_keys)s)"
        asked: dict[str, Any] = {"limit": self._page, "user_keys": list(self._users or ())}
        statement = _HEADS.format(which=which)
        while rows := await fetch(self._works, statement, asked):
            yield rows
            statement = _HEADS.format(which=f"{which} AND c.user_key > %(after)s")
            asked["after"] = rows[-1]["user_key"]

    def _tell(self, kind: Kind, problem: str, user_key: UUID | None = None, number: int | None = None) -> None:
        self._add([Finding(kind=kind, problem=problem, user_key=user_key, number=number)])

    def _add(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            self.report.found += 1
            if len(self.report.findings) < MAX_FINDINGS:
                self.report.findings.append(finding)
