"""Batches and who works on them: claimed for a while, by one worker at a time, and never lost with one that is killed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID, uuid4

from psycopg.types.json import Jsonb

from discreet.driver_errors import storage_errors
from discreet.errors import LeaseLostError
from discreet.state.background import BatchJob, JobState
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.statements import fetch, run
from discreet.storage.database.users.users import Cursor

_COLUMNS: LiteralString = """
    job_key, provider, model, state, batch_id, told, error, requests, is_cancelled, created_at, submitted_at, done_at, failures,
    lease_token, figures, is_withdrawn
"""

_OPEN: LiteralString = f"""
INSERT INTO discreet.batch_jobs (job_key, provider, model, state, created_at, due_at, lease_token, lease_until)
VALUES (
    %(job_key)s, %(provider)s, %(model)s, 'submitting', now(), now(), 1, now() + make_interval(secs => %(seconds)s)
)
RETURNING {_COLUMNS}
"""

_CLAIM: LiteralString = f"""
UPDATE discreet.batch_jobs
SET lease_token = lease_token + 1, lease_until = now() + make_interval(secs => %(seconds)s)
WHERE job_key = (
    SELECT job_key FROM discreet.batch_jobs
    WHERE done_at IS NULL AND due_at <= now() AND (lease_until IS NULL OR lease_until < now())
      AND (%(only)s::uuid IS NULL OR job_key = %(only)s)
    ORDER BY due_at
    LIMIT 1
    FOR UPDATE SKIP LOCKED
)
RETURNING {_COLUMNS}
"""

_HELD: LiteralString = "WHERE job_key = %(job_key)s AND lease_token = %(lease_token)s AND done_at IS NULL"

_EXTEND: LiteralString = f"""
UPDATE discreet.batch_jobs SET lease_until = now() + make_interval(secs => %(seconds)s) {_HELD} RETURNING is_cancelled
"""

_SUBMITTED: LiteralString = f"""
UPDATE discreet.batch_jobs
SET state = 'running', batch_id = %(batch_id)s, submitted_at = coalesce(submitted_at, now()), requests = %(requests)s,
    error = NULL, failures = 0
{_HELD}
RETURNING job_key
"""

_RELEASE: LiteralString = f"""
UPDATE discreet.batch_jobs
SET lease_until = NULL, due_at = now() + make_interval(secs => %(delay)s), told = coalesce(%(told)s, told), error = %(error)s,
    failures = CASE WHEN %(error)s::text IS NULL THEN 0 ELSE failures + 1 END
{_HELD}
RETURNING job_key
"""

_FINISH: LiteralString = f"""
UPDATE discreet.batch_jobs
SET state = %(state)s, done_at = now(), lease_until = NULL,
    told = coalesce(%(told)s, told), error = %(error)s, figures = %(figures)s
{_HELD}
RETURNING job_key
"""

_HOLD: LiteralString = f"SELECT FROM discreet.batch_jobs {_HELD} FOR KEY SHARE"  # as above
"""Who claims a job passes over rows that are locked so; whoever extends a lease or asks for an end does not wait for it."""

_OPEN_SPARE: LiteralString = """
INSERT INTO discreet.batch_jobs (
    job_key, provider, model, state, batch_id, is_cancelled, created_at, submitted_at, due_at
)
VALUES (
    %(job_key)s, %(provider)s, %(model)s, 'running', %(batch_id)s, true, now(), now(), now() + make_interval(secs => %(delay)s)
)
"""

_SHARES: LiteralString = """
SELECT EXISTS (SELECT FROM discreet.batch_jobs WHERE batch_id = %(batch_id)s AND job_key <> %(job_key)s) AS shares
"""

_DROP: LiteralString = f"DELETE FROM discreet.batch_jobs {_HELD} RETURNING job_key"

_CANCEL: LiteralString = f"""
UPDATE discreet.batch_jobs SET is_cancelled = true, due_at = least(due_at, now())
WHERE job_key = %(job_key)s AND done_at IS NULL
RETURNING {_COLUMNS}
"""

_OF_USER: LiteralString = """
SELECT DISTINCT job_key FROM discreet.batch_requests
WHERE user_key = %(user_key)s AND job_key IS NOT NULL
  AND (%(request_ids)s::text[] IS NULL OR request_ids && %(request_ids)s::text[])
"""

_WITHDRAW: LiteralString = """
UPDATE discreet.batch_jobs SET is_withdrawn = true, due_at = least(due_at, now())
WHERE job_key = ANY (%(job_keys)s) AND done_at IS NULL AND NOT is_withdrawn
"""

_READ: LiteralString = f"SELECT {_COLUMNS} FROM discreet.batch_jobs"

_LIST: LiteralString = f"""
{_READ}
WHERE (%(before_at)s::timestamptz IS NULL OR (created_at, job_key) < (%(before_at)s, %(before)s))
ORDER BY created_at DESC, job_key DESC
LIMIT %(limit)s
"""


class BatchJobs:
    """The table of jobs. What a worker changes, it changes only while it holds the job.

    Raises, from every method:
        StorageError: The database failed; nothing was changed.
    """

    def __init__(self, pool: Pool) -> None:
        """Use `pool`, whose owner closes it."""
        self._pool = pool

    async def open(self, provider: str, model: str, *, lease_seconds: float) -> BatchJob:
        """Make a job, held by the caller for so long. The provider is told its job_key before anything else."""
        given = {"job_key": uuid4(), "provider": provider, "model": model, "seconds": lease_seconds}
        [row] = await fetch(self._pool, _OPEN, given)
        return BatchJob(**row)

    async def claim(self, *, lease_seconds: float, only: UUID | None = None) -> BatchJob | None:
        """Take the job that is due longest and that nobody holds; None if there is none."""
        rows = await fetch(self._pool, _CLAIM, {"seconds": lease_seconds, "only": only})
        return BatchJob(**rows[0]) if rows else None

    async def extend(self, job: BatchJob, *, lease_seconds: float) -> bool:
        """Hold `job` for so long from now on; return whether somebody asked for its end meanwhile.

        Raises:
            LeaseLostError: Another worker has taken it, or it is done.
        """
        row = await self._held(_EXTEND, job, seconds=lease_seconds)
        return bool(row["is_cancelled"])

    @asynccontextmanager
    async def holding(self, job: BatchJob) -> AsyncIterator[Cursor]:
        """Yield a cursor in a transaction, binary, until whose end nobody takes `job` over.

        Raises:
            LeaseLostError: As `extend`.
        """
        given = {"job_key": job.job_key, "lease_token": job.lease_token}
        with storage_errors():
            async with self._pool.connection() as conn, conn.transaction(), conn.cursor(binary=True) as cursor:
                if await (await cursor.execute(_HOLD, given)).fetchone() is None:
                    raise LeaseLostError
                yield cursor

    async def open_spare(self, job: BatchJob, batch_id: str, *, delay: float) -> None:
        """Make a job, to be ended, of a batch that was handed in for `job` when another worker had taken that over."""
        given = {"job_key": uuid4(), "provider": job.provider, "model": job.model, "batch_id": batch_id, "delay": delay}
        await run(self._pool, _OPEN_SPARE, given)

    async def shares_batch(self, job: BatchJob) -> bool:
        """Whether another job has the same batch."""
        [row] = await fetch(self._pool, _SHARES, {"batch_id": job.batch_id, "job_key": job.job_key})
        return bool(row["shares"])

    async def submitted(self, job: BatchJob, batch_id: str, *, requests: int) -> None:
        """Note that the provider has it.

        Raises:
            LeaseLostError: As `extend`.
        """
        await self._held(_SUBMITTED, job, batch_id=batch_id, requests=requests)

    async def release(self, job: BatchJob, *, delay: float, told: str | None = None, error: str | None = None) -> None:
        """Give `job` back: it is due again in `delay` seconds, for whomever.

        Raises:
            LeaseLostError: As `extend`.
        """
        await self._held(_RELEASE, job, delay=delay, told=told, error=error)

    async def finish(
        self,
        job: BatchJob,
        state: JobState,
        *,
        figures: Mapping[str, Any],
        told: str | None = None,
        error: str | None = None,
    ) -> None:
        """Note that all of it is done.

        Raises:
            LeaseLostError: As `extend`.
        """
        await self._held(_FINISH, job, state=state, figures=Jsonb(dict(figures)), told=told, error=error)

    async def drop(self, job: BatchJob) -> None:
        """Delete a job that nothing was put into.

        Raises:
            LeaseLostError: As `extend`.
        """
        await self._held(_DROP, job)

    async def cancel(self, job_key: UUID) -> BatchJob | None:
        """Ask for the end of a job; None if there is none of that key that goes on."""
        rows = await fetch(self._pool, _CANCEL, {"job_key": job_key})
        return BatchJob(**rows[0]) if rows else None

    async def withdraw(self, user_key: UUID, request_ids: Sequence[str] | None = None, *, dry_run: bool = False) -> int:
        """Have the providers' copies deleted of what goes on and has prompts of a user, or of these turns; return how many."""
        found = await fetch(self._pool, _OF_USER, {"user_key": user_key, "request_ids": request_ids})
        job_keys = [row["job_key"] for row in found]
        if dry_run or not job_keys:
            return len(job_keys)
        return await run(self._pool, _WITHDRAW, {"job_keys": job_keys})

    async def get(self, job_key: UUID) -> BatchJob | None:
        """Return one job; None if there is none of that key."""
        rows = await fetch(self._pool, _READ + " WHERE job_key = %(job_key)s", {"job_key": job_key})
        return BatchJob(**rows[0]) if rows else None

    async def latest(self, *, limit: int = 50, before: tuple[datetime, UUID] | None = None) -> Sequence[BatchJob]:
        """Return at most `limit` jobs, newest first; `before`: created_at and job_key of the last one seen."""
        before_at, key = before or (None, None)
        rows = await fetch(self._pool, _LIST, {"limit": max(0, limit), "before_at": before_at, "before": key})
        return [BatchJob(**row) for row in rows]

    async def _held(self, statement: LiteralString, job: BatchJob, **given: Any) -> dict[str, Any]:
        rows = await fetch(self._pool, statement, {"job_key": job.job_key, "lease_token": job.lease_token, **given})
        if not rows:
            raise LeaseLostError
        return rows[0]
