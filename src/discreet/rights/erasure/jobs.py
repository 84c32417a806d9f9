"""The table of erasures: begun in the transaction that gives a user another epoch, gone on with by whichever process, done."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, LiteralString
from uuid import UUID, uuid4

from psycopg.types.json import Jsonb

from discreet.access.actor import current_actor
from discreet.access.pseudonyms import pseudonym_of
from discreet.access.user_keys import UserKeys
from discreet.driver_errors import storage_errors
from discreet.ports import AuditLog
from discreet.rights.erasure.plans import LEASE_SECONDS, Plans
from discreet.rights.erasure.receipts import Counts, Receipt
from discreet.rights.erasure.scopes import Plan, ScopeName
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.statements import fetch, run
from discreet.storage.database.users.epochs import FIRST_EPOCH
from discreet.storage.database.users.users import Cursor

ACTION: Final = "user.erase"

_BUMP: LiteralString = f"""
INSERT INTO discreet.users AS u (user_key, epoch) VALUES (%(user_key)s, {FIRST_EPOCH + 1})
ON CONFLICT (user_key) DO UPDATE SET epoch = u.epoch + 1
RETURNING epoch
"""
"""Waits for all who write for the user, and lets nobody in who began before."""

_REQUESTS_GO_ON: LiteralString = """
UPDATE discreet.batch_requests SET epoch = %(epoch)s WHERE user_key = %(user_key)s AND state IN ('pending', 'submitted')
"""
"""Of turns that stay."""

_BEGIN: LiteralString = """
INSERT INTO discreet.erasure (erasure_key, user_key, scope, asked_at, asked_by, lease_until, plan)
VALUES (
    %(erasure_key)s, %(user_key)s, %(scope)s, now(), %(asked_by)s, now() + make_interval(secs => %(seconds)s), %(plan)s
)
RETURNING asked_at
"""

_COLUMNS: LiteralString = "erasure_key, user_key, scope, asked_at, asked_by, plan, threads, turns, counts"

_LEFT: LiteralString = """
SELECT erasure_key, user_key FROM discreet.erasure WHERE done_at IS NULL AND lease_until < now() ORDER BY asked_at
"""

_CLAIM: LiteralString = f"""
UPDATE discreet.erasure SET lease_until = now() + make_interval(secs => %(seconds)s)
WHERE user_key = %(user_key)s AND erasure_key = %(erasure_key)s AND done_at IS NULL AND lease_until < now()
RETURNING {_COLUMNS}
"""

_SAVE: LiteralString = """
UPDATE discreet.erasure
SET counts = %(counts)s, threads = %(threads)s, turns = %(turns)s, lease_until = now() + make_interval(secs => %(seconds)s)
WHERE user_key = %(user_key)s AND erasure_key = %(erasure_key)s
"""

_NOW: LiteralString = "SELECT now() AS now"

_DONE: LiteralString = """
UPDATE discreet.erasure
SET counts = %(counts)s, threads = %(threads)s, turns = %(turns)s, done_at = %(done_at)s, plan = NULL, receipt = %(receipt)s
WHERE user_key = %(user_key)s AND erasure_key = %(erasure_key)s
"""

_OPEN: LiteralString = """
SELECT erasure_key, user_key, plan FROM discreet.erasure WHERE user_key = %(user_key)s AND done_at IS NULL
"""

_END_OLDER: LiteralString = """
UPDATE discreet.erasure SET done_at = %(done_at)s, plan = NULL
WHERE user_key = %(user_key)s AND done_at IS NULL AND asked_at < %(asked_at)s
"""
"""Those whose process ended are not gone on with: they would take what the user has said since."""

_RECEIPT: LiteralString = """
SELECT receipt FROM discreet.erasure WHERE user_key = %(user_key)s AND erasure_key = %(erasure_key)s AND receipt IS NOT NULL
"""

_TIDY: LiteralString = """
UPDATE discreet.erasure SET turns = '{}' WHERE done_at < now() - interval '1 hour' AND turns <> '{}'
"""
"""By then no process has any of them in its memory."""


@dataclass
class Job:
    """One erasure that goes on."""

    erasure_key: UUID
    user_key: UUID
    scope: ScopeName
    asked_at: datetime
    asked_by: str | None
    plan: Plan
    threads: set[UUID] = field(default_factory=set)
    turns: set[str] = field(default_factory=set)
    counts: Counts = field(default_factory=dict)

    def add(self, place: str, counts: Mapping[str, int]) -> None:
        """Count what went."""
        for kind, number in counts.items():
            if number:
                of_place = self.counts.setdefault(place, {})
                of_place[kind] = of_place.get(kind, 0) + number

    @property
    def row(self) -> dict[str, Any]:
        """What the database keeps of how far it is."""
        return {
            "erasure_key": self.erasure_key,
            "user_key": self.user_key,
            "counts": Jsonb(self.counts),
            "threads": sorted(self.threads),
            "turns": sorted(self.turns),
            "seconds": LEASE_SECONDS,
        }


class Jobs:
    """The table. Plans lie in it sealed; a row of which the plan isn't ours is passed over."""

    def __init__(self, pool: Pool, works: Pool, *, keys: UserKeys, audit: AuditLog) -> None:
        """Use these pools, whose owner closes them; `works` for what concerns all users."""
        self._pool = pool
        self._works = works
        self._keys = keys
        self._audit = audit
        self._plans = Plans(keys)

    async def begin(self, user_key: UUID, plan: Plan) -> Job:
        """Note an erasure, held by the caller; what is under way for the user stores nothing from then on."""
        if plan.is_whole:
            plan = await self._with_older(user_key, plan)
        erasure_key = uuid4()
        asked_by = pseudonym_of(current_actor(), self._keys)
        given = {
            "erasure_key": erasure_key,
            "user_key": user_key,
            "scope": plan.scope.name,
            "asked_by": asked_by,
            "seconds": LEASE_SECONDS,
            "plan": self._plans.seal(plan, erasure_key, user_key),
        }
        async with self.another_epoch(user_key, plan) as cursor:
            row = await (await cursor.execute(_BEGIN, given)).fetchone()
        assert row is not None  # RETURNING
        return Job(erasure_key, user_key, plan.scope.name, row["asked_at"], asked_by, plan)

    @asynccontextmanager
    async def another_epoch(self, user_key: UUID, plan: Plan) -> AsyncIterator[Cursor]:
        """Yield a transaction that gives a user another epoch. Prompts of turns that stay go on under it."""
        given: dict[str, Any] = {"user_key": user_key}
        with storage_errors():
            async with self._pool.connection() as conn, conn.transaction(), conn.cursor(binary=True) as cursor:
                row = await (await cursor.execute(_BUMP, given)).fetchone()
                if not plan.is_whole:
                    await cursor.execute(_REQUESTS_GO_ON, {**given, **(row or {})})
                yield cursor

    async def left(self) -> AsyncIterator[Job]:
        """Take one after the other that nobody is at."""
        found = await fetch(self._works, _LEFT)
        await run(self._works, _TIDY)
        for each in found:
            for row in await fetch(self._works, _CLAIM, {**each, "seconds": LEASE_SECONDS}):
                if (plan := self._plans.open(row)) is not None:
                    threads, turns = set(row["threads"]), set(row["turns"])
                    yield Job(**{**row, "plan": plan, "threads": threads, "turns": turns})

    async def save(self, job: Job) -> None:
        """Note how far it is, and hold it on."""
        await run(self._pool, _SAVE, job.row)

    async def now(self) -> datetime:
        """Return the database's time."""
        [row] = await fetch(self._pool, _NOW)
        now: datetime = row["now"]
        return now

    async def done(self, job: Job, receipt: Receipt) -> None:
        """Note that it is done, with its receipt, and write it down in the audit trail."""
        given = {**job.row, "done_at": receipt.done_at, "receipt": Jsonb(receipt.model_dump(mode="json"))}
        counts = {f"{place}.{kind}": n for place, of_place in job.counts.items() for kind, n in of_place.items()}
        with storage_errors():
            async with self._pool.connection() as conn, conn.transaction(), conn.cursor(binary=True) as cursor:
                await cursor.execute(_DONE, given)
                if job.plan.is_whole:
                    await cursor.execute(_END_OLDER, {**given, "asked_at": job.asked_at})
                await self._audit.record_in(cursor, ACTION, user_key=job.user_key, data=job.scope, counts=counts)

    async def receipt(self, user_key: UUID, erasure_key: UUID) -> Receipt | None:
        """Return a receipt; None if there is none of that user and key."""
        found = await fetch(self._pool, _RECEIPT, {"user_key": user_key, "erasure_key": erasure_key})
        return Receipt.model_validate(found[0]["receipt"]) if found else None

    async def _with_older(self, user_key: UUID, plan: Plan) -> Plan:
        """Return `plan` with the namespaces of erasures of the user that are not over, which end with this one."""
        older = [self._plans.open(row) for row in await fetch(self._pool, _OPEN, {"user_key": user_key})]
        named = dict.fromkeys(tuple(labels) for each in (plan, *older) if each for labels in each.scope.namespaces)
        return plan.model_copy(update={"scope": plan.scope.model_copy(update={"namespaces": [*named]})})
