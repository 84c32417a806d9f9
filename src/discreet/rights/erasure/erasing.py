"""Erase what is kept of a user, in bounded steps that any process goes on with, and say what went."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, LiteralString, Protocol, cast
from uuid import UUID

from psycopg import Error

from discreet.access.actor import Actor, acting
from discreet.checkpoint.postgres.erasing import ThreadEraser
from discreet.driver_errors import storage_errors
from discreet.erased import Erased, tell
from discreet.errors import InvalidUserError
from discreet.nodes.masking import turn_key
from discreet.nodes.requests import request_id_of
from discreet.nodes.run import run_of
from discreet.ports import DecliningSecretStore, SecretStore
from discreet.rights.erasure.jobs import Job, Jobs
from discreet.rights.erasure.moments import Moments
from discreet.rights.erasure.receipts import Counts, Receipt, unreached
from discreet.rights.erasure.scopes import Plan, Scope, Turn
from discreet.rights.erasure.tables import BATCH, ENTRIES, OF_NAMESPACE, OWNED, PARTS, Rows
from discreet.rights.namespaces import Namespace, owned_namespaces
from discreet.settings import Settings, load_settings
from discreet.state.context import check_user_id
from discreet.storage import Storage
from discreet.storage.database.connecting.connection import connect
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.keys import digest
from discreet.storage.database.users.users import Cursor
from discreet.storage.memories.large_users.indexes import drop
from discreet.storage.memories.memories import PostgresMemories

logger = logging.getLogger(__name__)

ALL: Final = 2**31 - 1

PAGE: Final = 100
"""Threads and namespaces that are looked up at a time."""

OPEN_TURNS: Final = 5
"""Of a thread, the newest: the turn vault has what those said that are not over."""

LOG_SKEW: Final = timedelta(seconds=5)
"""How much earlier than the log says a turn may have stored its first message."""

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

_SESSIONS: LiteralString = (
    "SELECT thread_id FROM discreet.session_record WHERE user_key = %(user_key)s ORDER BY thread_id"
)

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
"""  # noqa: S608  # a constant

_FORGET_NAMESPACE: LiteralString = "DELETE FROM discreet.store_namespace WHERE user_key = %(user_key)s"

_INDEXES: LiteralString = """
SELECT relname AS name FROM pg_class WHERE relkind IN ('i', 'I') AND starts_with(relname, %(prefix)s)
"""

_SUM_AGAIN: LiteralString = "UPDATE discreet.corpus SET counted_at = 'epoch'"
"""How many memories have each word is counted anew within a minute, without those that went."""

Progress = Callable[[str, Mapping[str, int]], None]
"""Hears what went, by place and kind."""


class Elsewhere(Protocol):
    """A place beside the database that has something of users."""

    @property
    def name(self) -> str:
        """What receipts call it."""
        ...

    async def erase(self, user_id: str, *, dry_run: bool) -> Mapping[str, int]:
        """Delete what is there of a user, or only count it; return how many, by kind."""
        ...


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
        self._storage = storage
        self._settings = settings or load_settings()
        self._keys = storage.background.keys
        self._pool = storage.pool
        self._works = storage.works_pool
        self._memories = cast("PostgresMemories", storage.memories)
        self._secrets = secret_store or DecliningSecretStore()
        self._elsewhere = elsewhere
        self._threads = ThreadEraser(self._works, schema=checkpoint_schema)
        self.jobs = Jobs(self._pool, self._works, keys=self._keys, audit=storage.audit)
        self.moments = Moments(self._memories, self._keys)

    async def preview(self, user_id: str | None, scope: Scope) -> Counts:
        """Return how many would go, by place and kind. Nothing is changed.

        Raises:
            As `erase`.
        """
        plan = await self._plan(user_id, scope)
        job = Job(UUID(int=0), self._key_of(plan), scope.name, await self.jobs.now(), None, plan)
        await self._pass(job, _Counting(self._pool, self._works))
        return {place: counts for place, counts in job.counts.items() if counts}

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
            check_user_id(user_id)
        plan = Plan(user_id=user_id, scope=scope)
        if plan.is_whole:
            return plan
        request_ids: list[str] = []
        if scope.name == "said" and user_id is not None:
            gone = await self._memories.forget(user_id, scope.entry_id or scope.text, dry_run=True)
            request_ids = [request_id for _, request_id in gone.rounds] if gone else []
        asked = {
            "user_key": self._key_of(plan),
            "since": scope.since,
            "thread_key": digest(scope.thread_id) if scope.thread_id else None,
            "request_ids": request_ids,
        }
        turns = [Turn(**row) for row in await _rows(self._pool, _TURNS, asked)]
        return plan.model_copy(update={"turns": turns})

    def _key_of(self, plan: Plan) -> UUID:
        return self._keys.of(plan.user_id, plan.scope.thread_id or "")

    async def _run(self, job: Job, progress: Progress) -> Receipt:
        """Take all steps, give the user another epoch, and take them again: what came in between goes too."""
        doing = _Deleting(self._pool, self._works, jobs=self.jobs, progress=progress)
        await self._pass(job, doing)
        async with self.jobs.another_epoch(job.user_key, job.plan) as cursor:
            for rows in (each for each in OWNED if job.plan.is_whole and each.is_own):
                job.add("database", {rows.table: await rows.delete(cursor, {"user_key": job.user_key}, batch=ALL)})
        if job.plan.is_whole:
            await self._pass(job, doing, again=True)
        done_at = await self.jobs.now()
        batches = job.counts.get("providers", {}).get("batches", 0)
        more = (
            {}
            if self._elsewhere
            else {"LangGraph server": "its threads, runs and crons, unless this was asked of the server"}
        )
        receipt = Receipt(
            erasure_key=job.erasure_key,
            user_key=job.user_key,
            scope=job.scope,
            asked_at=job.asked_at,
            done_at=done_at,
            asked_by=job.asked_by,
            counts={place: counts for place, counts in job.counts.items() if counts},
            threads=sorted(job.threads),
            unreached=unreached(done_at, self._settings, batches=batches, more=more),
        ).signed(self._keys)
        await self.jobs.done(job, receipt)
        await tell(Erased(user_key=job.user_key, threads=job.threads, turns=job.turns, key_of=self._keys.of_thread))
        logger.info("erasure.done erasure=%s scope=%s", job.erasure_key, job.scope)
        return receipt

    async def _pass(self, job: Job, doing: _Doing, *, again: bool = False) -> None:
        """Take all steps once."""
        if not again:
            batches = await self._storage.background.jobs.withdraw(
                job.user_key,
                None if job.plan.is_whole else [turn.request_id for turn in job.plan.turns],
                dry_run=doing.is_dry,
            )
            await doing.note(job, "providers", {"batches": batches})
        if job.plan.is_whole:
            await self._everything(job, doing, again=again)
        else:
            await self._parts(job, doing)

    async def _everything(self, job: Job, doing: _Doing, *, again: bool) -> None:
        await self._whole_threads(job, doing)
        async for namespace in self._namespaces(job):
            await self._namespace(job, namespace, doing)
        if again:
            return
        if (user_id := job.plan.user_id) is not None:
            await self._short_term(job, user_id, None, doing)
            if not doing.is_dry:
                await doing.note(job, "secret store", {"secrets": await self._secrets.forget(user_id)})
            for place in self._elsewhere:
                await doing.note(job, place.name, await place.erase(user_id, dry_run=doing.is_dry))
        await self._moments(job, doing)
        for rows in OWNED:
            await doing.rows(job, rows, {"user_key": job.user_key})
        if not doing.is_dry:
            await self._indexes(job.user_key)
            await _run(self._works, _SUM_AGAIN)

    async def _parts(self, job: Job, doing: _Doing) -> None:
        scope, user_id = job.plan.scope, job.plan.user_id
        assert user_id is not None  # as `is_whole` says
        given = self._given(job)
        if scope.name in ("memory", "said"):
            gone = await self._memories.forget(user_id, scope.entry_id or scope.text, dry_run=doing.is_dry)
            if gone is not None:
                await doing.note(job, "database", {"memory": len(gone.facts) + len(gone.told)})
                told = {thread for thread, _ in gone.rounds} | {each.thread_id for each in gone.told if each.thread_id}
                given["touched"] = sorted({*given["touched"], *map(digest, told)})
        else:
            await self._moments(job, doing)
            await self._entries(job, given, doing)
        for thread_id in job.plan.threads or ([scope.thread_id] if scope.thread_id else []):
            await self._part_of_thread(job, thread_id, doing)
            await self._short_term(job, user_id, thread_id, doing)
        async for thread_id in self._recent_threads(job):
            await self._part_of_thread(job, thread_id, doing)
        again = await self._take_again(job, given, doing)
        for rows in PARTS:
            await doing.rows(job, rows, given)
        if not doing.is_dry:
            await self._recount(job, again)

    def _given(self, job: Job) -> dict[str, Any]:
        """Return what the statements of parts are told."""
        whole = [digest(job.plan.scope.thread_id)] if job.plan.scope.thread_id else []
        return {
            "user_key": job.user_key,
            "request_ids": [turn.request_id for turn in job.plan.turns],
            "whole": whole,
            "touched": sorted({*whole, *map(digest, job.plan.threads)}),
            "since": job.plan.scope.since,
        }

    async def _whole_threads(self, job: Job, doing: _Doing) -> None:
        if not doing.is_dry and await self._threads.are_there():
            await self._threads.mark(job.user_key)
        seen = ""
        while await self._threads.are_there() and (
            found := await self._threads.threads(job.user_key, after=seen, limit=PAGE)
        ):
            for thread_id in found:
                await self._whole_thread(job, thread_id, doing)
            seen = found[-1]
        for row in await _rows(self._pool, _SESSIONS, {"user_key": job.user_key}):  # those of other checkpointers
            await self._forget_values(job, row["thread_id"], [], doing)

    async def _whole_thread(self, job: Job, thread_id: str, doing: _Doing) -> None:
        messages = await self._threads.messages(thread_id)
        said = [row["message_id"] for row in messages if row["kind"] == "human"]
        await self._forget_values(job, thread_id, said[-OPEN_TURNS:], doing)
        gone = await (self._threads.count(thread_id) if doing.is_dry else self._threads.erase(thread_id))
        await doing.note(job, "checkpoints", gone)

    async def _part_of_thread(self, job: Job, thread_id: str, doing: _Doing) -> None:
        """Take turns out of a thread's checkpoints; all of them if the thread is to go."""
        scope = job.plan.scope
        if not (await self._threads.are_there() and await self._threads.belongs(thread_id, job.user_key)):
            return
        if scope.thread_id == thread_id:
            await self._whole_thread(job, thread_id, doing)
            return
        turns = {turn.request_id: turn for turn in job.plan.turns if turn.thread_id == thread_id}
        messages = [row for row in await self._threads.messages(thread_id) if row["kind"] == "human"]

        def request_of(message: Mapping[str, Any]) -> str:
            return request_id_of(job.plan.user_id, thread_id, message["message_id"])

        unknown = [
            turns[each] for each in turns.keys() - {*map(request_of, messages)}
        ]  # of messages without an id of theirs

        def is_gone(message: Mapping[str, Any]) -> bool:
            said_at = message["created_at"]
            return (
                request_of(message) in turns
                or any(turn.began_at - LOG_SKEW <= said_at <= turn.ended_at for turn in unknown)
                or (scope.since is not None and said_at >= scope.since)
            )

        said = [row["message_id"] for row in messages if is_gone(row)]
        await self._forget_values(job, thread_id, said[-OPEN_TURNS:], doing)
        if doing.is_dry:
            await doing.note(job, "checkpoints", {"turns": len(said)})
            return
        since = min([turn.began_at for turn in turns.values()] or [scope.since or await self.jobs.now()])
        await doing.note(job, "checkpoints", await self._threads.erase_turns(thread_id, is_gone, since))

    async def _recent_threads(self, job: Job) -> AsyncIterator[str]:
        """Yield the threads whose turns are in no log: paused ones, and those that failed."""
        since, seen = job.plan.scope.since, ""
        while since is not None and await self._threads.are_there():
            found = await self._threads.threads(job.user_key, after=seen, limit=PAGE)
            for thread_id in found:
                if thread_id not in job.plan.threads and any(
                    row["created_at"] >= since for row in await self._threads.messages(thread_id)
                ):
                    yield thread_id
            if not found:
                return
            seen = found[-1]

    async def _forget_values(self, job: Job, thread_id: str, message_ids: Sequence[str | None], doing: _Doing) -> None:
        """Forget what the turn vault has of a thread, and of its turns that may not be over."""
        run = run_of({"user_id": job.plan.user_id, "thread_id": thread_id})
        names = [turn_key(run), *(turn_key(run, message_id) for message_id in message_ids)]
        job.threads.add(self._keys.of_thread(thread_id))
        job.turns.update(names)
        for name in () if doing.is_dry else names:
            await self._storage.vault.adrop(name)

    async def _short_term(self, job: Job, user_id: str, thread_id: str | None, doing: _Doing) -> None:
        """Forget sessions that lie in Redis; those in the database go with its tables."""
        if self._settings.redis_url is None or doing.is_dry:
            return
        await doing.note(job, "redis", {"entries": await self._storage.short_term.forget(user_id, thread_id)})

    async def _moments(self, job: Job, doing: _Doing) -> None:
        """Keep important moments as nobody's."""
        since, thread_id = job.plan.scope.since, job.plan.scope.thread_id
        while moments := await self.moments.of(
            job.user_key, since=since, thread_id=None if job.plan.is_whole else thread_id
        ):
            await doing.note(job, "moments", {"kept without their user": len(moments)})
            if doing.is_dry:
                return
            await self.moments.keep(job.user_key, moments)
            await self._memories.delete_entries(job.user_key, [moment.entry_id for moment in moments])

    async def _entries(self, job: Job, given: Mapping[str, Any], doing: _Doing) -> None:
        if doing.is_dry:
            await doing.rows(job, ENTRIES, given)
            return
        while found := await _rows(self._pool, _ENTRY_IDS, given):
            gone = await self._memories.delete_entries(job.user_key, [row["entry_id"] for row in found])
            await doing.note(job, "database", {"memory": gone})

    async def _take_again(self, job: Job, given: Mapping[str, Any], doing: _Doing) -> set[UUID]:
        """Let turns be extracted anew that stay, and were in a prompt with others; return the threads that they are of."""
        prompts = [] if doing.is_dry else await _rows(self._pool, _PROMPTS, given)
        asked = {"user_key": job.user_key, "keys": [row["request_key"] for row in prompts]}
        return {row["thread_key"] for row in await _rows(self._pool, _TAKE_AGAIN, asked)} if prompts else set()

    async def _recount(self, job: Job, again: set[UUID]) -> None:
        now = await self.jobs.now()
        for thread_id in job.plan.threads:
            gone = sum(turn.thread_id == thread_id for turn in job.plan.turns)
            thread_key = digest(thread_id)
            given = {"user_key": job.user_key, "thread_key": thread_key, "gone": gone, "now": now}
            await _run(self._pool, _RECOUNT, {**given, "again": thread_key in again})

    async def _namespaces(self, job: Job) -> AsyncIterator[Namespace]:
        after, user_id = "", job.plan.user_id
        while user_id is not None:
            named = job.plan.scope.namespaces
            found = await owned_namespaces(self._works, user_id, named=named, after=after, limit=PAGE)
            for namespace in found:
                yield namespace
            if len(found) < PAGE:
                return
            after = found[-1].path

    async def _namespace(self, job: Job, namespace: Namespace, doing: _Doing) -> None:
        given = {"user_key": namespace.user_key}
        if not doing.is_dry:
            async with self.jobs.another_epoch(namespace.user_key, job.plan):
                pass
        for rows in OF_NAMESPACE:
            await doing.rows(job, rows, given, place="store")
        await doing.note(job, "store", {"namespaces": 1})
        if not doing.is_dry:
            await _run(self._pool, _FORGET_NAMESPACE, given)
            await self._indexes(namespace.user_key)

    async def _indexes(self, user_key: UUID) -> None:
        """Drop the indexes of a user of many memories, as their names have the key. What fails, maintenance does."""
        found = await _rows(self._works, _INDEXES, {"prefix": f"memory_large_{user_key.hex}"})
        if not found:
            return
        try:
            async with await connect(self._storage.access.owner) as conn:
                for row in found:
                    await drop(conn, row["name"])
        except Error as error:
            logger.warning("erasure.indexes_left cause=%s", type(error).__name__)


class _Doing:
    """How a pass goes over what it finds."""

    is_dry = False

    def __init__(self, pool: Pool, works: Pool) -> None:
        self._pool = pool
        self._works = works

    async def note(self, job: Job, place: str, counts: Mapping[str, int]) -> None:
        """Note what went."""
        job.add(place, counts)

    async def rows(self, job: Job, rows: Rows, given: Mapping[str, Any], *, place: str = "database") -> None:
        """Go over the rows of a table."""
        gone = ALL
        while gone >= BATCH:
            with storage_errors():
                pool = self._pool if rows.is_own else self._works
                async with pool.connection() as conn, conn.cursor(binary=True) as cursor:
                    gone = await self._some(cursor, rows, given)
            await self.note(job, place, {rows.table: gone})
            if self.is_dry:
                return

    async def _some(self, cursor: Cursor, rows: Rows, given: Mapping[str, Any]) -> int:
        """Go over some of them; return how many."""
        return await rows.count(cursor, given)


class _Counting(_Doing):
    """Counts what would go."""

    is_dry = True


class _Deleting(_Doing):
    """Deletes, a batch at a time, and says so in the table of erasures."""

    def __init__(self, pool: Pool, works: Pool, *, jobs: Jobs, progress: Progress) -> None:
        super().__init__(pool, works)
        self._jobs = jobs
        self._progress = progress

    async def note(self, job: Job, place: str, counts: Mapping[str, int]) -> None:
        if any(counts.values()):
            job.add(place, counts)
            self._progress(place, counts)
            await self._jobs.save(job)

    async def _some(self, cursor: Cursor, rows: Rows, given: Mapping[str, Any]) -> int:
        return await rows.delete(cursor, given)


async def _rows(pool: Pool, statement: LiteralString, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    with storage_errors():
        async with pool.connection() as conn, conn.cursor(binary=True) as cursor:
            return await (await cursor.execute(statement, given)).fetchall()


async def _run(pool: Pool, statement: LiteralString, given: Mapping[str, Any] | None = None) -> None:
    with storage_errors():
        async with pool.connection() as conn:
            await conn.execute(statement, given)
