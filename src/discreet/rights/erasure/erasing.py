"""Erase what is kept of a user, in bounded steps that any process goes on with, and say what went."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final, LiteralString, cast
from uuid import UUID

from discreet.access.actor import Actor, acting
from discreet.erased import Erased, tell
from discreet.errors import InvalidUserError
from discreet.ports import DecliningSecretStore, SecretStore
from discreet.rights.erasure.bad_rows import named
from discreet.rights.erasure.jobs import Job, Jobs
from discreet.rights.erasure.moments import Moments
from discreet.rights.erasure.passes import Counting, Deleting, Progress
from discreet.rights.erasure.receipts import Counts, Receipt, unreached
from discreet.rights.erasure.scopes import Plan, Scope, Turn
from discreet.rights.erasure.steps import Elsewhere, Steps
from discreet.rights.erasure.tables import OWNED
from discreet.rights.erasure.threads import Threads
from discreet.settings import Settings, load_settings
from discreet.storage import Storage
from discreet.storage.database.keys import digest
from discreet.storage.database.statements import fetch
from discreet.storage.memories.memories import PostgresMemories

logger = logging.getLogger(__name__)

ALL: Final = 2**31 - 1
"""Rows that a user may have written between the steps and their end."""

_TURNS: LiteralString = """
SELECT s.thread_id, l.request_id, l.started_at AS began_at, l.ended_at
FROM discreet.conversation_log l
JOIN discreet.session_record s ON s.user_key = l.user_key AND s.thread_key = l.thread_key
WHERE l.user_key = %(user_key)s AND s.user_key = %(user_key)s AND (
    l.started_at >= %(since)s::timestamptz OR l.thread_key = %(thread_key)s::uuid
    OR l.request_id = ANY (%(request_ids)s::text[])
)
ORDER BY l.started_at
"""


class Erasures:
    """Erases. On the event loop of its storage.

    From the moment an erasure is asked for until it is done, what is under way for the user stores nothing; what they say
    afterwards is kept as ever.

    Example:
        >>> from discreet.storage import open_storage
        >>> async def forget(dsn: str, user_id: str) -> str:
        ...     async with open_storage(dsn) as storage:
        ...         receipt = await Erasures(storage).erase(user_id, Scope.everything())
        ...         return receipt.model_dump_json(indent=2)
    """

    def __init__(
        self,
        storage: Storage,
        *,
        settings: Settings | None = None,
        secret_store: SecretStore | None = None,
        elsewhere: Sequence[Elsewhere] = (),
        checkpoint_schema: str | None = None,
    ) -> None:
        """Erase in `storage`, and `elsewhere`.

        `secret_store`: that of the graphs. `checkpoint_schema`: where the checkpointer's tables are, if it was told so.
        """
        self._settings = settings or load_settings()
        self._keys = storage.background.keys
        self._pool = storage.pool
        self._works = storage.works_pool
        self._memories = cast("PostgresMemories", storage.memories)
        self.jobs = Jobs(self._pool, self._works, keys=self._keys, audit=storage.audit)
        self.moments = Moments(self._memories, self._keys)
        self._steps = Steps(
            storage=storage,
            memories=self._memories,
            threads=Threads(storage, schema=checkpoint_schema),
            moments=self.moments,
            jobs=self.jobs,
            secrets=secret_store or DecliningSecretStore(),
            elsewhere=elsewhere,
            has_redis=self._settings.redis_url is not None,
        )

    async def preview(self, user_id: str | None, scope: Scope) -> Counts:
        """Return how many would go, by place and kind. Nothing is changed.

        Raises:
            As `erase`.
        """
        plan = await self._plan(user_id, scope)
        job = Job(UUID(int=0), self._key_of(plan), scope.name, await self.jobs.now(), None, plan)
        await self._steps.take(Counting(job, self._pool, self._works))
        return job.counts

    async def erase(self, user_id: str | None, scope: Scope, *, progress: Progress = lambda *_: None) -> Receipt:
        """Erase what `scope` says of a user, or, without one, of whoever spoke in its thread; return the receipt.

        Should it fail, or its process end, another goes on with it.

        Raises:
            InvalidUserError: `user_id` can't be used, or there is neither user nor thread.
            StorageError: The database failed.
            ProviderError: The embedding model failed, which moments need that are kept without their user.
        """
        plan = await self._plan(user_id, scope)
        return await self._run(await self.jobs.begin(self._key_of(plan), plan), progress)

    async def resume(self) -> list[Receipt]:
        """Go on with erasures that nobody is at; return their receipts.

        Raises:
            As `erase`.
        """
        with acting(Actor(kind="worker")):
            return [await self._run(job, lambda *_: None) async for job in self.jobs.left()]

    async def receipt(self, user_id: str, erasure_key: UUID) -> Receipt | None:
        """Return the receipt of an erasure of a user that is done; None if there is none of that key.

        Raises:
            StorageError: The database failed.
        """
        return await self.jobs.receipt(self._keys.of_user(user_id), erasure_key)

    async def _plan(self, user_id: str | None, scope: Scope) -> Plan:
        """Find the turns that are to go, by what the log and the memories say now."""
        if user_id is None and scope.thread_id is None:
            raise InvalidUserError
        if user_id is not None:
            user_id = self._keys.ids.user_id(user_id, stores=False)
        if scope.thread_id is not None:
            stored = self._keys.ids.thread_id(scope.thread_id, stores=False)
            scope = scope.model_copy(update={"thread_id": stored})
        plan = Plan(user_id=user_id, scope=scope)
        if plan.is_whole:
            return plan
        request_ids: list[str] = []
        if scope.name == "said" and user_id is not None:
            gone = await self._memories.forget(user_id, scope.entry_id or scope.text, facts=True, dry_run=True)
            request_ids = [request_id for _, request_id in gone.rounds] if gone else []
        asked = {
            "user_key": self._key_of(plan),
            "since": scope.since,
            "thread_key": digest(scope.thread_id) if scope.thread_id else None,
            "request_ids": request_ids,
        }
        return plan.model_copy(update={"turns": [Turn(**row) for row in await fetch(self._pool, _TURNS, asked)]})

    def _key_of(self, plan: Plan) -> UUID:
        return self._keys.of(plan.user_id, plan.scope.thread_id or "")

    async def _run(self, job: Job, progress: Progress) -> Receipt:
        """Take all steps, give the user another epoch, and take some again: what came in between goes too."""
        doing = Deleting(job, self._pool, self._works, jobs=self.jobs, progress=progress)
        await self._steps.take(doing)
        async with self.jobs.another_epoch(job.user_key, job.plan) as cursor:
            for rows in (each for each in OWNED if job.plan.is_whole and each.is_own):
                job.add("database", {rows.table: await rows.delete(cursor, {"user_key": job.user_key}, batch=ALL)})
        if job.plan.is_whole:
            await self._steps.take_late(doing)
        receipt = await self._receipt(job)
        await self.jobs.done(job, receipt)
        await tell(Erased.of(job.user_key, threads=job.threads, turns=job.turns, key_of=self._keys.of_thread))
        logger.info("erasure.done erasure=%s scope=%s", job.erasure_key, job.scope)
        return receipt

    async def _receipt(self, job: Job) -> Receipt:
        done_at = await self.jobs.now()
        batches = job.counts.get("providers", {}).get("batches", 0)
        asked_elsewhere, plan = bool(self._steps.elsewhere), job.plan
        names = [plan.user_id] if plan.is_whole and plan.user_id is not None else []
        bad_rows = await asyncio.to_thread(named, self._settings.data_dir, names)
        return Receipt(
            erasure_key=job.erasure_key,
            user_key=job.user_key,
            scope=job.scope,
            asked_at=job.asked_at,
            done_at=done_at,
            asked_by=job.asked_by,
            counts=job.counts,
            threads=sorted(job.threads),
            unreached=unreached(
                done_at, self._settings, batches=batches, asked_elsewhere=asked_elsewhere, bad_rows=bad_rows
            ),
        ).signed(self._keys)
