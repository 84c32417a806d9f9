"""Take one job a step further: hand it in, look how far it is, apply what came of it."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from discreet import metrics
from discreet.errors import (
    ConfigurationError,
    DiscreetError,
    LeaseLostError,
    ProviderError,
    StorageError,
    UserErasedError,
)
from discreet.ports import BatchProvider, BatchRequest, BatchResult, TextRedactor
from discreet.spans import span
from discreet.state.background import BatchJob, JobState, StoredRequest
from discreet.storage.background.background import Background
from discreet.storage.background.results import Outcome
from discreet.worker.lease import LEASE_SECONDS, held
from discreet.worker.prompting import make, outcome_of
from discreet.worker.providers import BatchProviders

logger = logging.getLogger(__name__)

APPLIED_AT_ONCE = 3
"""Answers that are applied side by side: half of the connections of a pool."""

POLL_SECONDS = 60.0
MAX_POLL_SECONDS = 900.0
"""Between two looks at a batch: a minute at first, a tenth of its age later, a quarter of an hour at most."""

RETRY_SECONDS = 60.0
MAX_RETRY_SECONDS = 3_600.0
"""Between two tries of a provider that fails: twice as long each time."""

MAX_FAILURES = 30
"""In a row, over a day: then the job ends, and its prompts wait for another."""


Told = Callable[[StoredRequest, Outcome, Mapping[str, int]], None]


@dataclass(frozen=True, kw_only=True)
class Attendant:
    """Works on jobs that its caller has claimed."""

    background: Background
    providers: BatchProviders
    redactor: TextRedactor
    lease_seconds: float = LEASE_SECONDS
    told: Told | None = None
    """Called with each answer that was applied, and the numbers of what came of it."""

    async def attend(self, job: BatchJob, *, review: bool = False) -> DiscreetError | None:
        """Do what can be done of `job` now, and give it back or end it; return what its provider failed with, if it did.

        Raises:
            LeaseLostError: Another worker has it.
            StorageError: The database failed; the job is taken up again when the lease ends.
        """
        with span("extraction.job", job=job.job_key, state=job.state, provider=job.provider):
            return await self._attend(job, review=review)

    async def _attend(self, job: BatchJob, *, review: bool) -> DiscreetError | None:
        async with held(self.background.jobs, job, seconds=self.lease_seconds):
            provider = None
            try:
                provider = self.providers.get(job.provider, job.model)
                if job.state == "submitting":
                    await self._hand_in(job, provider, review=review)
                else:
                    await self._look(job, provider, review=review)
            except (ProviderError, ConfigurationError) as error:
                await self._failed(job, provider, error)
                return error
            except asyncio.CancelledError:  # the worker stops: another need not wait for the lease's end
                with suppress(StorageError):
                    await self.background.jobs.release(job, delay=0.0)
                raise
        return None

    async def _hand_in(self, job: BatchJob, provider: BatchProvider, *, review: bool) -> None:
        """Hand in what is in `job`. Whoever was at it before may have done so without being able to say it."""
        requests = await self.background.requests.of_job(job)
        if not requests and job.lease_token == 1:
            await self.background.jobs.drop(job)
            return
        if job.lease_token > 1:
            ids = [request.custom_id for request in requests]
            batch_id = await provider.find(job.job_key.hex, ids, job.created_at)
            if batch_id is not None:
                await self._handed_in(job, batch_id, len(requests))
                return
        if job.is_cancelled:
            await self._finish(job, "cancelled", is_cancelled=True)
            return
        prompts = await self._prompts(job, requests, provider, review=review)
        if not prompts:
            await self._finish(job, "completed")
            return
        await self.background.jobs.extend(
            job, lease_seconds=self.lease_seconds
        )  # the last moment to find that another has it
        handing_in = asyncio.create_task(provider.submit(job.job_key.hex, job.model, prompts))
        try:
            batch_id = await asyncio.shield(handing_in)
            await self._handed_in(job, batch_id, len(prompts))
        except (LeaseLostError, asyncio.CancelledError):
            await in_any_case(self._left_over(job, handing_in))
            raise

    async def _left_over(self, job: BatchJob, handing_in: asyncio.Task[str]) -> None:
        """Have a batch ended that was handed in though another worker had taken `job` over."""
        known = await self.background.jobs.get(job.job_key)
        if known is not None and known.lease_token == job.lease_token:  # this worker stops: who goes on finds the batch
            handing_in.cancel()
            await asyncio.wait([handing_in])
            return
        with suppress(ProviderError):
            batch_id = await handing_in
            if known is None or known.batch_id != batch_id:
                await self.background.jobs.open_spare(job, batch_id, delay=SPARE_SECONDS)

    async def _handed_in(self, job: BatchJob, batch_id: str, requests: int) -> None:
        await self.background.jobs.submitted(job, batch_id, requests=requests)
        logger.info("batch.submitted job=%s provider=%s requests=%d", job.job_key, job.provider, requests)
        metrics.batches_submitted.labels(job.provider).inc()
        await self.background.jobs.release(job, delay=POLL_SECONDS if provider_waits(job.provider) else 0.0)

    async def _prompts(
        self, job: BatchJob, requests: Sequence[StoredRequest], provider: BatchProvider, *, review: bool
    ) -> list[BatchRequest]:
        """Return the prompts that fit into one batch; those that need no model are done, the rest wait for the next one."""
        prompts: list[BatchRequest] = []
        size = 0
        for number, request in enumerate(requests):
            made = await make(request, self.background.requests)
            if made.outcome is not None:
                await self._apply(job, request, made.outcome, review=review)
            elif made.prompt is None:
                await self.background.requests.end(job, request, "cancelled", error="nothing_left")
            else:
                size += provider.size(made.prompt, job.model)
                if prompts and (size > provider.limits.bytes or len(prompts) >= provider.limits.requests):
                    await self.background.requests.give_back(job, requests[number:])
                    break
                prompts.append(made.prompt)
        return prompts

    async def _look(self, job: BatchJob, provider: BatchProvider, *, review: bool) -> None:
        assert job.batch_id is not None  # as its state says
        if job.requests == 0 and await self.background.jobs.shares_batch(
            job
        ):  # a spare one that was found, and is none
            await self._finish(job, "cancelled", is_cancelled=True)
            return
        if job.is_cancelled or job.is_withdrawn:
            await provider.cancel(job.batch_id)
        status = await provider.status(job.batch_id)
        if status.state == "running":
            await self.background.jobs.release(job, delay=_poll_delay(job), told=status.told)
            return
        waiting = await self.background.requests.of_job(job)
        if status.state == "ended":
            await self._apply_all(job, provider, waiting, review=review)
        state: JobState = "vanished" if status.state == "vanished" and waiting else "completed"
        if job.is_cancelled or job.is_withdrawn:
            state = "cancelled"
        elif status.error is not None:
            state = "failed"
        if await self._deleted(job, provider):
            await self._finish(job, state, is_cancelled=job.is_cancelled, told=status.told, error=status.error)

    async def _deleted(self, job: BatchJob, provider: BatchProvider) -> bool:
        """Delete the batch at its provider; False if that is to be tried again before the job ends."""
        assert job.batch_id is not None
        try:
            await provider.delete(job.batch_id)
        except ProviderError as error:
            logger.warning("batch.not_deleted job=%s provider=%s", job.job_key, job.provider)
            if error.is_passing and job.failures < MAX_DELETE_FAILURES:
                await self.background.jobs.release(job, delay=_retry_delay(job.failures), error="not_deleted")
                return False
        return True

    async def _apply_all(
        self, job: BatchJob, provider: BatchProvider, requests: Sequence[StoredRequest], *, review: bool
    ) -> None:
        """Apply what the provider answers to `requests`, in whatever order; what is missing stays as it is."""
        assert job.batch_id is not None
        waiting = {request.custom_id: request for request in requests}
        if not waiting:  # all is applied, and only its deletion was not
            return
        applying: set[asyncio.Task[None]] = set()
        try:
            async for result in provider.results(job.batch_id):
                request = waiting.get(result.custom_id)
                if request is None:
                    continue  # delivered before, or none of ours
                if result.state == "succeeded":
                    del waiting[result.custom_id]
                applying.add(asyncio.create_task(self._apply_result(job, request, result, review=review)))
                if len(applying) >= APPLIED_AT_ONCE:
                    done, applying = await asyncio.wait(applying, return_when=asyncio.FIRST_COMPLETED)
                    await asyncio.gather(*done)
            await asyncio.gather(*applying)
        finally:  # after a failure nothing goes on behind its back
            for task in applying:
                task.cancel()
            await asyncio.gather(*applying, return_exceptions=True)

    async def _apply_result(self, job: BatchJob, request: StoredRequest, result: BatchResult, *, review: bool) -> None:
        requests = self.background.requests
        if result.state != "succeeded":
            metrics.extraction_failures.labels(result.error or result.state).inc()
            error = result.error or result.state
            if result.is_final:
                await requests.end(job, request, "failed", error=error)
            else:
                await requests.note_failure(job, request, error)
            return
        try:
            outcome = await outcome_of(request, result, requests, redactor=self.redactor, model=job.model)
        except ProviderError:  # tried again in another batch
            metrics.extraction_failures.labels("malformed_answer").inc()
            await requests.note_failure(job, request, "malformed_answer")
            logger.warning("batch.malformed_answer job=%s request=%s", job.job_key, request.request_key)
            return
        if outcome is None:
            await requests.end(job, request, "cancelled", error="nothing_left")
            return
        await self._apply(job, request, outcome, review=review)

    async def _apply(self, job: BatchJob, request: StoredRequest, outcome: Outcome, *, review: bool) -> None:
        try:
            numbers = await self.background.results.apply(job, request, outcome, review=review)
        except UserErasedError:
            await self.background.requests.end(job, request, "cancelled", error=UserErasedError.code)
            return
        if self.told is not None and numbers is not None:
            self.told(request, outcome, numbers)
        for name, number in (numbers or {}).items():
            metrics.extraction_items.labels(name).inc(number)
        if numbers is not None:
            metrics.extraction_tokens.labels("input").inc(outcome.input_tokens)
            metrics.extraction_tokens.labels("output").inc(outcome.output_tokens)

    async def _finish(
        self,
        job: BatchJob,
        state: JobState,
        *,
        is_cancelled: bool = False,
        told: str | None = None,
        error: str | None = None,
    ) -> None:
        """End `job`. What has no result waits for another batch, the longer the oftener it was tried."""
        left = "cancelled" if is_cancelled else (error or state)
        await self.background.requests.settle_rest(
            job, is_cancelled=is_cancelled, error=None if state == "completed" else left, delay=RETRY_SECONDS
        )
        figures = await self.background.requests.figures(job)
        await self.background.jobs.finish(job, state, figures=figures, told=told, error=error)
        logger.info("batch.%s job=%s provider=%s %s", state, job.job_key, job.provider, _told(figures))

    async def _failed(self, job: BatchJob, provider: BatchProvider | None, error: DiscreetError) -> None:
        """Try later; end the job where that would not help."""
        passing = error.is_passing if isinstance(error, ProviderError) else True
        metrics.extraction_failures.labels(error.code).inc()
        told = (job.job_key, job.provider, error.code, error)  # such errors have no text of users
        logger.warning("batch.provider_failed job=%s provider=%s cause=%s %s", *told)
        if passing and job.failures < MAX_FAILURES:
            await self.background.jobs.release(job, delay=_retry_delay(job.failures), error=error.code)
        else:
            if provider is not None and job.batch_id is not None:
                with suppress(ProviderError, ConfigurationError):
                    await provider.cancel(job.batch_id)
                    await provider.delete(job.batch_id)
            await self._finish(job, "failed", error=error.code)


SPARE_SECONDS = 600.0
"""By then who took a job over has said which batch it is."""

MAX_DELETE_FAILURES = 5
"""Then what is left at the provider goes when it expires, after 30 days."""


async def in_any_case(work: Coroutine[Any, Any, None]) -> None:
    """Do `work` to its end, whoever cancels this meanwhile; that is raised afterwards."""
    task, cancelled = asyncio.create_task(work), None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    task.result()


def provider_waits(provider: str) -> bool:
    """Whether a batch takes its time there."""
    return provider not in {"offline", "immediate"}


def _poll_delay(job: BatchJob) -> float:
    looked = POLL_SECONDS * (1 + job.lease_token / 4)
    return min(MAX_POLL_SECONDS, looked) * random.uniform(0.8, 1.2)  # noqa: S311  # guards nothing


def _retry_delay(failures: int) -> float:
    return min(MAX_RETRY_SECONDS, RETRY_SECONDS * 2.0**failures) * random.uniform(0.5, 1.0)  # noqa: S311  # as above


def _told(figures: dict[str, int]) -> str:
    return " ".join(f"{name}={number}" for name, number in sorted(figures.items()))
