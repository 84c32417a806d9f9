"""Batches as answers have them, with what they cost."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from discreet.api.prices import cost
from discreet.state.background import BatchJob, JobState
from discreet.state.described import describe_fields


class Job(BaseModel):
    """A batch of prompts at a provider."""

    model_config = ConfigDict(json_schema_extra=describe_fields)

    job_key: UUID
    """Unique id."""
    provider: str
    """Who extracts."""
    model: str
    """By which model."""
    state: JobState
    """How far it is: `completed`, `failed`, `cancelled` and `vanished` are the ends."""
    batch_id: str | None
    """What the provider calls it; null: it was not handed in."""
    told: str
    """The provider's own word for how far it is."""
    error: str | None
    """Code of what failed last."""
    requests: int
    """Prompts in it."""
    is_cancelled: bool
    """Whether somebody asked for its end."""
    created_at: datetime
    """When it was made."""
    submitted_at: datetime | None
    """When the provider had it."""
    done_at: datetime | None
    """When all that came of it was stored; null: it goes on."""
    failures: int
    """Calls of the provider that failed, in a row."""
    figures: dict[str, int]
    """What came of it, once it is done: prompts by state, tokens, facts kept, and those refused by the reason."""
    cost_usd: float | None
    """Estimated by list prices; null: it goes on, or the price of its model is not known."""

    @classmethod
    def of(cls, job: BatchJob) -> Job:
        """Return `job` as answers have it."""
        times = {name: _utc(getattr(job, name)) for name in ("created_at", "submitted_at", "done_at")}
        same = {name: getattr(job, name) for name in _SAME}
        return cls(**same, **times, figures=dict(job.figures), cost_usd=cost_of(job))


def cost_of(job: BatchJob) -> float | None:
    """Return what a job has cost in USD, by list prices; None while it goes on, or where its model's price is not known."""
    if job.done_at is None:
        return None
    asked, answered = int(job.figures.get("input_tokens", 0)), int(job.figures.get("output_tokens", 0))
    return cost(job.model, asked, answered, job.provider)


_SAME = (
    "job_key",
    "provider",
    "model",
    "state",
    "batch_id",
    "told",
    "error",
    "requests",
    "is_cancelled",
    "failures",
)


def _utc(moment: datetime | None) -> datetime | None:
    return moment and moment.astimezone(UTC)
