"""Batches of background memory: list them, end them, try again what failed, and see what waits. For administrators."""

# Annotations are evaluated here: FastAPI would look for what they name among the module's names.

from datetime import UTC, date, datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict

from discreet.api.due import due_counts
from discreet.api.errors import answers
from discreet.api.jobs import Job
from discreet.api.paging import LINKED, Paging, follow
from discreet.api.prices import price_list
from discreet.api.routing import make_router
from discreet.api.services import Services
from discreet.errors import NotFoundError
from discreet.state.background import JobState, RequestState, Trigger
from discreet.state.described import describe_fields


class JobPage(BaseModel):
    """Batches, newest first."""

    model_config = ConfigDict(json_schema_extra=describe_fields)

    jobs: list[Job]
    """At most `limit`."""
    next: str | None
    """What to send as `cursor` for the page after this one; null: there is none. The Link header has its address."""
    prices_as_of: date
    """The day of the list prices that `cost_usd` is estimated by."""


class Made(BaseModel):
    """What was started."""

    model_config = ConfigDict(json_schema_extra=describe_fields)

    requests: int
    """Prompts that wait for the next batch now."""


class Status(BaseModel):
    """What background memory has to do, and who does it."""

    model_config = ConfigDict(json_schema_extra=describe_fields)

    workers: int
    """That are alive. Without one nothing is extracted."""
    sessions: int
    """With turns of which nothing was made yet; with `more`, of those that were looked at."""
    due: dict[Trigger, int]
    """Those of them that a worker takes now, by the reason."""
    more: bool
    """Whether there are sessions that were not looked at."""
    requests: dict[RequestState, int]
    """Prompts by state."""
    oldest_request: datetime | None
    """When the oldest prompt that has no result yet was made."""
    jobs: dict[JobState, int]
    """Batches by state."""
    proposals: int
    """Memories that wait until somebody accepts them."""
    failing: dict[str, int]
    """Batches that go on and whose provider failed last, by provider and code of the error."""


def make_jobs_router(services: Services) -> APIRouter:
    """Return the routes; none if nothing is made of conversations."""
    router = make_router(services, prefix="/memory/extraction", tags=["extraction"], admin=True)
    background = services.background
    if background is None:
        return router

    @router.get("/jobs", summary="List batches, newest first", responses={**LINKED, **answers(422)})
    async def list_jobs(paging: Annotated[Paging, Query()], request: Request, response: Response) -> JobPage:
        found = await background.jobs.latest(limit=paging.limit + 1, before=paging.mark)
        jobs, more = found[: paging.limit], found[paging.limit :]
        following = follow(request, response, (jobs[-1].created_at, jobs[-1].job_key) if more else None)
        return JobPage(jobs=[Job.of(job) for job in jobs], next=following, prices_as_of=price_list().as_of)

    @router.get("/jobs/{job_key}", summary="Read a batch", responses=answers(404, 422))
    async def read_job(job_key: UUID) -> Job:
        job = await background.jobs.get(job_key)
        if job is None:
            raise NotFoundError
        return Job.of(job)

    @router.post(
        "/jobs/{job_key}/cancel",
        status_code=202,
        summary="End a batch",
        description="A worker tells the provider. What has been answered by then is kept, the other prompts are dropped until they "
        "are tried again. 404 if the batch is done.",
        responses=answers(404, 422),
    )
    async def cancel_job(job_key: UUID) -> Job:
        job = await background.jobs.cancel(job_key)
        if job is None:
            raise NotFoundError
        return Job.of(job)

    @router.post(
        "/jobs/{job_key}/retry",
        status_code=202,
        summary="Try the failed and cancelled prompts of a batch again",
        responses=answers(404, 422),
    )
    async def retry_job(job_key: UUID) -> Made:
        if await background.jobs.get(job_key) is None:
            raise NotFoundError
        return Made(requests=await background.requests.retry(job_key))

    @router.get("/status", summary="Show what waits, and whether a worker is alive")
    async def read_extraction_status() -> Status:
        found = await background.watch.status()
        counts = await due_counts(background, services.memory_settings.live)
        return Status(
            workers=found.workers,
            sessions=counts.sessions,
            due=counts.by_trigger,
            more=counts.more,
            requests=found.requests,
            oldest_request=found.oldest_request and found.oldest_request.astimezone(UTC),
            jobs=found.jobs,
            proposals=found.proposals,
            failing=found.failing,
        )

    return router
