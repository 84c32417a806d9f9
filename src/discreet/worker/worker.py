"""The worker: looks which sessions are due, hands their prompts in, and applies what comes of them, until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID, uuid4

from discreet import metrics
from discreet.access.actor import WORKER, acting
from discreet.errors import ConfigurationError, DiscreetError, LeaseLostError, StorageError
from discreet.ports import LiveSettings, TextRedactor
from discreet.spans import span
from discreet.state.background import BatchJob, PendingSession, RequestKind, Trigger
from discreet.state.memory_settings import MemorySettings
from discreet.storage.background.background import Background
from discreet.storage.background.sessions import Mark
from discreet.worker.attending import Attendant, Told, provider_waits
from discreet.worker.lease import LEASE_SECONDS
from discreet.worker.providers import BatchProviders
from discreet.worker.rolling import RollingDrain
from discreet.worker.triggers import due

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 15.0
"""Between two passes."""
HEARTBEAT_SECONDS = 10.0
GRACE_SECONDS = 20.0
"""How long what is under way may go on once the worker is told to stop, as for a turn: Kubernetes kills after 30."""
PAGE = 500
"""Pending sessions that are looked at at a time."""
FIRED_AT_ONCE = 2_000
"""Sessions taken in one pass, so that batches are handed in while a backlog is worked through."""
COLLECT_SECONDS = 300.0
"""How long prompts wait for others, so that a batch is worth its name. There are none to wait for where answers come at once."""


@dataclass(frozen=True, kw_only=True)
class Pass:
    """What one pass did."""

    fired: int = 0
    """Sessions whose turns were taken."""
    batches: int = 0
    """That were made."""
    attended: int = 0
    """Batches that were taken a step further."""
    problem: str | None = None
    """What a provider failed with, and what to do about it, if one did."""


class Worker:
    """One of any number that share a database. On the event loop of its storage."""

    def __init__(
        self,
        background: Background,
        *,
        memory_settings: LiveSettings,
        providers: BatchProviders,
        redactor: TextRedactor,
        collect_seconds: float = COLLECT_SECONDS,
        lease_seconds: float = LEASE_SECONDS,
        rolling: RollingDrain | None = None,
        told: Told | None = None,
    ) -> None:
        """Work on `background`; `providers` belong to the caller.

        `told` hears of each answer that was applied; `rolling` brings rolling summaries up to date.
        """
        self._background = background
        self._settings = memory_settings
        self._attendant = Attendant(
            background=background, providers=providers, redactor=redactor, lease_seconds=lease_seconds, told=told
        )
        self._providers = providers
        self._rolling = rolling
        self._collect = collect_seconds
        self._lease = lease_seconds
        self._key = uuid4()
        self._problem: str | None = None

    async def run(self, stopping: asyncio.Event, *, pause: float = PAUSE_SECONDS) -> None:
        """Do one pass after the other until `stopping` is set; what is under way then has `GRACE_SECONDS`."""
        with acting(WORKER):
            async with self._heartbeat():
                await self._run(stopping, pause)

    async def _run(self, stopping: asyncio.Event, pause: float) -> None:
        working = asyncio.create_task(self._repeat(stopping, pause))
        stopped = asyncio.create_task(stopping.wait())
        try:
            await asyncio.wait([working, stopped], return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait([working], timeout=GRACE_SECONDS)
        finally:
            for task in (working, stopped):
                task.cancel()
            await asyncio.gather(working, stopped, return_exceptions=True)

    async def once(self) -> Pass:
        """Do what can be done now: no batch waits for more prompts, and those that end at once are fetched.

        Raises:
            StorageError: The database failed. What was done before stays.
        """
        with acting(WORKER):
            return await self._once()

    async def _once(self) -> Pass:
        fired = last = await self.fire()
        while last >= FIRED_AT_ONCE:
            fired += (last := await self.fire())
        self._problem = None
        batches = attended = 0
        while await self.submit(collect_seconds=0.0):
            batches += 1
        while await self.attend():
            attended += 1
        return Pass(fired=fired, batches=batches, attended=attended, problem=self._problem)

    async def fire(self) -> int:
        """Take the turns of sessions that are due; return of how many.

        Raises:
            StorageError: The database failed.
        """
        live = self._settings.live
        if not live.memory_extraction_enabled:
            return 0
        with span("extraction.take") as noted:
            fired = await self._fire(live)
            noted.note(sessions=fired)
        return fired

    async def _fire(self, live: MemorySettings) -> int:
        kinds: Sequence[RequestKind] = ("extraction", "summary") if live.memory_session_summaries else ("extraction",)
        fired = 0
        async for session, trigger in self.due():
            taken = await self._background.sessions.take(session.user_key, session.thread_key, trigger, kinds=kinds)
            if taken:
                metrics.triggers_fired.labels(trigger).inc()
                fired += 1
            if fired >= FIRED_AT_ONCE:
                break
        return fired

    async def due(self) -> AsyncIterator[tuple[PendingSession, Trigger]]:
        """Yield the sessions that are due, and why; those that wait longest first.

        Raises:
            StorageError: The database failed.
        """
        after: Mark | None = None
        oldest = 0.0
        while page := await self._background.sessions.pending(limit=PAGE, after=after):
            for session in page:
                if self._rolling is not None and await self._rolling.advance(session):
                    continue  # its summary is a trigger the next time
                trigger = due(session, self._settings.live.triggers_of(session.app_name))
                if trigger is not None:
                    oldest = max(oldest, (session.now - session.pending_since).total_seconds())
                    yield session, trigger
            last = page[-1]
            after = (last.pending_since, last.user_key, last.thread_key)
            if len(page) < PAGE:
                break
        metrics.oldest_due_seconds.set(oldest)

    async def submit(self, *, collect_seconds: float | None = None, user_key: UUID | None = None) -> BatchJob | None:
        """Make a batch of the prompts that wait, and hand it in; None if there are none, or they wait for more.

        Raises:
            StorageError: The database failed; the batch is taken up again when its lease ends.
        """
        live = self._settings.live
        name, model = live.memory_extraction_provider, live.extraction_model
        collect = self._collect if collect_seconds is None else collect_seconds
        waits = await self._background.requests.waiting(user_key)
        if not waits.requests:
            return None
        try:
            limits = self._providers.get(name, model).limits
        except ConfigurationError as error:
            metrics.extraction_failures.labels(error.code).inc()
            logger.warning("batch.provider_not_made provider=%s cause=%s %s", name, error.code, error)
            self._problem = str(error)
            return None
        if provider_waits(name) and waits.seconds < collect and waits.requests < limits.requests:
            return None
        job = await self._background.jobs.open(name, model, lease_seconds=self._lease)
        await self._background.requests.assign(job, limit=limits.requests, user_key=user_key)
        await self._attend_one(job)
        return job

    async def attend(self, only: UUID | None = None) -> bool:
        """Take the job that is due longest, or the one `only`, a step further; False if there is none that is due.

        Raises:
            StorageError: The database failed.
        """
        job = await self._background.jobs.claim(lease_seconds=self._lease, only=only)
        if job is None:
            return False
        await self._attend_one(job)
        return True

    async def _attend_one(self, job: BatchJob) -> None:
        try:
            error = await self._attendant.attend(job, review=self._settings.live.memory_extraction_review)
        except LeaseLostError:
            metrics.leases_lost.inc()
            logger.warning("batch.lease_lost job=%s", job.job_key)
        else:
            self._problem = self._problem if error is None else str(error)

    async def _repeat(self, stopping: asyncio.Event, pause: float) -> None:
        while not stopping.is_set():
            try:
                with metrics.extraction_seconds.time():
                    await self._pass(stopping)
            except DiscreetError as error:
                logger.warning("worker.pass_failed cause=%s", error.code)
            except Exception as error:  # noqa: BLE001  # the edge of a process that has to go on
                logger.warning("worker.pass_failed cause=%s", type(error).__name__)
            try:
                async with asyncio.timeout(pause * random.uniform(0.8, 1.2)):  # noqa: S311  # guards nothing
                    await stopping.wait()
            except TimeoutError:
                continue

    async def _pass(self, stopping: asyncio.Event) -> None:
        await self.fire()
        while not stopping.is_set() and await self.submit():
            pass
        while not stopping.is_set() and await self.attend():
            pass

    @asynccontextmanager
    async def _heartbeat(self) -> AsyncIterator[None]:
        """Say that this worker is alive, inside the block."""

        async def beat() -> None:
            while True:
                try:
                    await self._background.watch.seen(self._key)
                except StorageError as error:
                    logger.warning("worker.not_seen cause=%s", error.code)
                await asyncio.sleep(HEARTBEAT_SECONDS)

        beating = asyncio.create_task(beat())
        try:
            yield
        finally:
            beating.cancel()
            await asyncio.wait([beating])
            try:
                await self._background.watch.gone(self._key)
            except StorageError as error:
                logger.warning("worker.not_gone cause=%s", error.code)
