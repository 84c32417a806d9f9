"""The steps of an erasure, place by place: all that is kept of a user, or parts of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, LiteralString, Protocol
from uuid import UUID

from discreet.ports import SecretStore
from discreet.rights.erasure.jobs import Jobs
from discreet.rights.erasure.moments import Moments
from discreet.rights.erasure.passes import Counting
from discreet.rights.erasure.scopes import Scope
from discreet.rights.erasure.tables import BATCH, ENTRIES, OF_NAMESPACE, OWNED, PARTS
from discreet.rights.erasure.threads import Threads
from discreet.rights.namespaces import Namespace, owned_namespaces
from discreet.storage import Storage
from discreet.storage.database.keys import digest
from discreet.storage.database.statements import fetch, run
from discreet.storage.memories.memories import PostgresMemories

PAGE: Final = 100
"""Namespaces that are looked up at a time."""

_RECOUNT: LiteralString = """
UPDATE discreet.session_record s
SET rounds = greatest(rounds - %(gone)s, 0), taken_rounds = least(taken_rounds, greatest(rounds - %(gone)s, 0)),
    intent = NULL, sealed_intent = NULL, pending_since = CASE WHEN %(again)s THEN %(now)s ELSE pending_since END
WHERE user_key = %(user_key)s AND thread_key = %(thread_key)s
"""

_TAKE_AGAIN: LiteralString = """
UPDATE discreet.conversation_log SET extraction_key = NULL
WHERE user_key = %(user_key)s AND extraction_key = ANY (%(keys)s) RETURNING thread_key
"""

_PROMPTS: LiteralString = """
SELECT request_key FROM discreet.batch_requests
WHERE user_key = %(user_key)s AND state IN ('pending', 'submitted') AND request_ids && %(request_ids)s::text[]
"""

_ENTRY_IDS: LiteralString = f"""
SELECT entry_id FROM discreet.memory WHERE user_key = %(user_key)s AND ({ENTRIES.which}) LIMIT {BATCH}
"""

_FORGET_NAMESPACE: LiteralString = "DELETE FROM discreet.store_namespace WHERE user_key = %(user_key)s"

_SUM_AGAIN: LiteralString = "UPDATE discreet.corpus SET counted_at = 'epoch'"
"""How many memories have each word is counted anew within a minute, without those that went."""


class Elsewhere(Protocol):
    """A place beside the database that has something of users."""

    @property
    def name(self) -> str:
        """What receipts call it."""
        ...

    async def erase(self, user_id: str, *, scope: Scope, threads: Sequence[str], dry_run: bool) -> Mapping[str, int]:
        """Delete what is there of a user, or only count it; return how many, by kind.

        `threads`: those of which something goes. With the scope `all` everything goes, and they are not named.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Takes the steps."""

    storage: Storage
    memories: PostgresMemories
    """Those of `storage`."""
    threads: Threads
    moments: Moments
    jobs: Jobs
    secrets: SecretStore
    elsewhere: Sequence[Elsewhere]
    has_redis: bool
    """Whether sessions lie there: those in the database go with its tables."""

    async def take(self, doing: Counting) -> None:
        """Take all steps once."""
        plan = doing.job.plan
        request_ids = None if plan.is_whole else [turn.request_id for turn in plan.turns]
        withdrawn = await self.storage.background.jobs.withdraw(doing.job.user_key, request_ids, dry_run=doing.is_dry)
        await doing.note("providers", {"batches": withdrawn})
        if not plan.is_whole:
            await self._parts(doing)
            return
        await self.take_late(doing)
        if (user_id := plan.user_id) is not None:
            await self._short_term(doing, user_id, None)
            if not doing.is_dry:
                await doing.note("secret store", {"secrets": await self.secrets.forget(user_id)})
            await self._elsewhere(doing, user_id, ())
        await self._moments(doing)
        for rows in OWNED:
            await doing.rows(rows, {"user_key": doing.job.user_key})
        if not doing.is_dry:
            await run(self.storage.works_pool, _SUM_AGAIN)

    async def take_late(self, doing: Counting) -> None:
        """Erase threads and items of the store: again at the end, as some may have been begun meanwhile."""
        await self.threads.whole(doing)
        async for namespace in self._namespaces(doing):
            await self._namespace(doing, namespace)

    async def _parts(self, doing: Counting) -> None:
        plan, user_key = doing.job.plan, doing.job.user_key
        scope, user_id = plan.scope, plan.user_id
        assert user_id is not None  # as `is_whole` says
        touched = {*map(digest, plan.threads)}
        given: dict[str, Any] = {
            "user_key": user_key,
            "request_ids": [turn.request_id for turn in plan.turns],
            "whole": [digest(scope.thread_id)] if scope.thread_id else [],
            "since": scope.since,
        }
        if scope.name in ("memory", "said"):
            gone = await self.memories.forget(user_id, scope.entry_id or scope.text, facts=True, dry_run=doing.is_dry)
            if gone is not None:
                await doing.note("database", {"memory": len(gone.facts) + len(gone.told)})
                touched |= {digest(thread_id) for thread_id, _ in gone.rounds}
                touched |= {digest(each.thread_id) for each in gone.told if each.thread_id}
        else:
            await self._moments(doing)
            await self._entries(doing, given)
        await self._elsewhere(doing, user_id, await self.threads.parts(doing))
        for thread_id in plan.threads:
            await self._short_term(doing, user_id, thread_id)
        again = set() if doing.is_dry else await self._take_again(given)
        for rows in PARTS:
            await doing.rows(rows, {**given, "touched": sorted(touched)})
        for thread_id in () if doing.is_dry else plan.threads:
            thread_key = digest(thread_id)
            counted = {"thread_key": thread_key, "gone": len(plan.turns_of(thread_id)), "again": thread_key in again}
            await run(self.storage.pool, _RECOUNT, {"user_key": user_key, "now": await self.jobs.now(), **counted})

    async def _short_term(self, doing: Counting, user_id: str, thread_id: str | None) -> None:
        """Forget sessions that lie in Redis."""
        if self.has_redis and not doing.is_dry:
            await doing.note("redis", {"entries": await self.storage.short_term.forget(user_id, thread_id)})

    async def _elsewhere(self, doing: Counting, user_id: str, threads: Sequence[str]) -> None:
        scope = doing.job.plan.scope
        for place in self.elsewhere:
            gone = await place.erase(user_id, scope=scope, threads=threads, dry_run=doing.is_dry)
            await doing.note(place.name, gone)

    async def _moments(self, doing: Counting) -> None:
        """Keep important moments as nobody's."""
        plan, user_key = doing.job.plan, doing.job.user_key
        thread_id = None if plan.is_whole else plan.scope.thread_id
        while moments := await self.moments.of(user_key, since=plan.scope.since, thread_id=thread_id):
            await doing.note("moments", {"kept without their user": len(moments)})
            if doing.is_dry:
                return
            await self.moments.keep(user_key, moments)
            await self.memories.delete_entries(user_key, [moment.entry_id for moment in moments])

    async def _entries(self, doing: Counting, given: Mapping[str, Any]) -> None:
        if doing.is_dry:
            await doing.rows(ENTRIES, given)
            return
        while found := await fetch(self.storage.pool, _ENTRY_IDS, given):
            gone = await self.memories.delete_entries(doing.job.user_key, [row["entry_id"] for row in found])
            await doing.note("database", {"memory": gone})

    async def _take_again(self, given: Mapping[str, Any]) -> set[UUID]:
        """Let turns be extracted anew that stay, and were in a prompt with others; return the threads that they are of."""
        prompts = await fetch(self.storage.pool, _PROMPTS, given)
        asked = {"user_key": given["user_key"], "keys": [row["request_key"] for row in prompts]}
        return {row["thread_key"] for row in await fetch(self.storage.pool, _TAKE_AGAIN, asked)} if prompts else set()

    async def _namespaces(self, doing: Counting) -> AsyncIterator[Namespace]:
        after, plan = "", doing.job.plan
        while plan.user_id is not None:
            found = await owned_namespaces(
                self.storage.works_pool,
                plan.user_id,
                keys=self.storage.background.keys,
                named=plan.scope.namespaces,
                after=after,
                limit=PAGE,
            )
            for namespace in found:
                yield namespace
            if len(found) < PAGE:
                return
            after = found[-1].path

    async def _namespace(self, doing: Counting, namespace: Namespace) -> None:
        given = {"user_key": namespace.user_key}
        if not doing.is_dry:
            async with self.jobs.another_epoch(namespace.user_key, doing.job.plan):
                pass
        for rows in OF_NAMESPACE:
            await doing.rows(rows, given, place="store")
        await doing.note("store", {"namespaces": 1})
        if not doing.is_dry:
            await run(self.storage.pool, _FORGET_NAMESPACE, given)
