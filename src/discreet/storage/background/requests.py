"""The prompts of batches: put into one, taken out again, counted. Their texts are read from the conversation log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from discreet.errors import EncryptionError
from discreet.state.background import BatchJob, SessionSummary, StoredRequest
from discreet.state.records import MemoryFilters, MemoryRecord, MemoryType, TurnRecord
from discreet.storage.background.jobs import BatchJobs
from discreet.storage.background.summaries import READ_SUMMARY, summary_from
from discreet.storage.conversation.summaries import text_of_summary
from discreet.storage.conversation.turn_rows import TURN_COLUMNS, turns_from
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.sealing import FieldSealer, reported
from discreet.storage.database.statements import fetch, run
from discreet.storage.memories.memories import PostgresMemories

MAX_ATTEMPTS = 3
"""How often a prompt is handed in before it counts as failed."""

MAX_KNOWN = 60
"""Facts that a prompt tells: the newest, some 1,000 tokens."""
MAX_FORGOTTEN = 50
"""Rounds that their user had forgotten, the newest, which are read for what they say is to be forgotten."""
MAX_REMAINDER = 60
"""Turns that a session's summary reads at most: the newest that no earlier summary covers."""

FACTS: tuple[MemoryType, ...] = ("user_fact", "preference", "event", "conversation_insight", "important_moment")

_REQUEST_COLUMNS: LiteralString = """
    user_key, request_key, kind, thread_id, thread_key, app_name, trigger, epoch, request_ids, attempts
"""

_PENDING: LiteralString = """
SELECT user_key, request_key FROM discreet.batch_requests
WHERE state = 'pending' AND due_at <= now() AND (%(only)s::uuid IS NULL OR user_key = %(only)s)
ORDER BY due_at
LIMIT %(limit)s
"""

_WAITING: LiteralString = """
SELECT count(*) AS requests, extract(epoch FROM now() - min(due_at))::float8 AS seconds
FROM discreet.batch_requests
WHERE state = 'pending' AND due_at <= now() AND (%(only)s::uuid IS NULL OR user_key = %(only)s)
"""

_THESE: LiteralString = """
user_key = ANY (%(user_keys)s) AND (user_key, request_key) IN (
    SELECT user_key, request_key FROM unnest(%(user_keys)s::uuid[], %(request_keys)s::uuid[]) AS r (user_key, request_key)
)
"""

_ASSIGN: LiteralString = f"""
UPDATE discreet.batch_requests SET state = 'submitted', job_key = %(job_key)s, attempts = attempts + 1
WHERE state = 'pending' AND {_THESE}
"""

_OF_JOB: LiteralString = f"""
SELECT {_REQUEST_COLUMNS} FROM discreet.batch_requests
WHERE job_key = %(job_key)s AND state = 'submitted'
ORDER BY user_key, request_key
"""

_GIVE_BACK: LiteralString = f"""
UPDATE discreet.batch_requests SET state = 'pending', job_key = NULL, attempts = attempts - 1
WHERE state = 'submitted' AND job_key = %(job_key)s AND {_THESE}
"""

_LEFT_OVER: LiteralString = f"""
UPDATE discreet.batch_requests
SET state = CASE WHEN %(is_cancelled)s THEN 'cancelled' WHEN attempts >= {MAX_ATTEMPTS} THEN 'failed' ELSE 'pending' END,
    job_key = CASE WHEN %(is_cancelled)s OR attempts >= {MAX_ATTEMPTS} THEN job_key END,
    done_at = now() + CASE WHEN %(is_cancelled)s OR attempts >= {MAX_ATTEMPTS} THEN interval '0' END,
    due_at = now() + make_interval(secs => %(delay)s),
    error = coalesce(error, %(error)s)
WHERE state = 'submitted' AND job_key = %(job_key)s
"""

_END: LiteralString = """
UPDATE discreet.batch_requests
SET state = %(state)s, error = %(error)s, done_at = now(), input_tokens = %(input_tokens)s, output_tokens = %(output_tokens)s
WHERE user_key = %(user_key)s AND request_key = %(request_key)s AND state = 'submitted' AND job_key = %(job_key)s
"""

_NOTE_FAILURE: LiteralString = """
UPDATE discreet.batch_requests SET error = %(error)s
WHERE user_key = %(user_key)s AND request_key = %(request_key)s AND state = 'submitted' AND job_key = %(job_key)s
"""

_BEGIN_SUMMARY: LiteralString = """
UPDATE discreet.batch_requests
SET forgotten_rounds = (
    SELECT count(*) FROM discreet.forgotten_round WHERE user_key = %(user_key)s AND thread_key = %(thread_key)s
)
WHERE user_key = %(user_key)s AND request_key = %(request_key)s
"""

_RETRY: LiteralString = """
UPDATE discreet.batch_requests
SET state = 'pending', job_key = NULL, attempts = 0, error = NULL, done_at = NULL, due_at = now()
WHERE job_key = %(job_key)s AND state IN ('failed', 'cancelled')
"""

_CAUSES: LiteralString = """
SELECT DISTINCT error FROM discreet.batch_requests
WHERE user_key = %(user_key)s AND state IN ('pending', 'submitted', 'failed') AND error IS NOT NULL
"""

_STATES: LiteralString = """
SELECT state, count(*) AS requests, sum(input_tokens)::bigint AS input_tokens, sum(output_tokens)::bigint AS output_tokens
FROM discreet.batch_requests WHERE job_key = %(job_key)s GROUP BY state
"""

_OUTCOMES: LiteralString = """
SELECT o.name, sum(o.number::bigint)::bigint AS number
FROM (
    SELECT (jsonb_each_text(outcome)).key AS name, (jsonb_each_text(outcome)).value AS number
    FROM discreet.batch_requests WHERE job_key = %(job_key)s
) o
GROUP BY o.name
"""

_TURNS: LiteralString = f"""
SELECT %(thread_id)s::text AS thread_id, {TURN_COLUMNS}
FROM discreet.conversation_log l
WHERE l.user_key = %(user_key)s AND l.request_id = ANY (%(request_ids)s)
  AND NOT EXISTS (
      SELECT FROM discreet.forgotten_round f
      WHERE f.user_key = %(user_key)s AND f.thread_key = %(thread_key)s AND f.request_id = l.request_id
  )
ORDER BY l.started_at, l.request_id
"""

_FORGOTTEN: LiteralString = f"""
SELECT '' AS thread_id, {TURN_COLUMNS}
FROM discreet.forgotten_round f
JOIN discreet.conversation_log l
  ON l.user_key = f.user_key AND l.request_id = f.request_id AND l.thread_key = f.thread_key
WHERE f.user_key = %(user_key)s AND l.user_key = %(user_key)s
ORDER BY f.forgotten_at DESC
LIMIT {MAX_FORGOTTEN}
"""

_COMPACTION: LiteralString = """
SELECT
    r.user_key, r.thread_key, r.text, r.sealed_text, r.rounds, r.last_message_id, l.started_at AS covered_at, l.ended_at, s.started_at AS began_at
FROM discreet.rolling_summary r
JOIN discreet.conversation_log l
  ON l.user_key = r.user_key AND l.thread_key = r.thread_key AND l.answer_id = r.last_message_id
JOIN discreet.session_record s ON s.user_key = r.user_key AND s.thread_key = r.thread_key
WHERE r.user_key = %(user_key)s AND l.user_key = %(user_key)s AND s.user_key = %(user_key)s
  AND r.thread_key = %(thread_key)s AND l.thread_key = %(thread_key)s AND s.thread_key = %(thread_key)s
ORDER BY l.ended_at DESC
LIMIT 1
"""

_REMAINDER: LiteralString = f"""
SELECT %(thread_id)s::text AS thread_id, {TURN_COLUMNS}
FROM discreet.conversation_log l
WHERE l.user_key = %(user_key)s AND l.thread_key = %(thread_key)s
  AND (%(after)s::timestamptz IS NULL OR l.started_at > %(after)s)
  AND NOT EXISTS (
      SELECT FROM discreet.forgotten_round f
      WHERE f.user_key = %(user_key)s AND f.thread_key = %(thread_key)s AND f.request_id = l.request_id
  )
ORDER BY l.started_at DESC, l.request_id DESC
LIMIT {MAX_REMAINDER}
"""


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """Prompts that could be handed in."""

    requests: int
    seconds: float
    """For how long the first of them has waited."""


@dataclass(frozen=True, kw_only=True)
class ExtractionMaterial:
    """What an extraction works with."""

    turns: Sequence[TurnRecord]
    """Oldest first; none that the user had forgotten."""
    known: Sequence[MemoryRecord]
    """Current facts, newest first."""
    forgotten: Sequence[TurnRecord]
    """Rounds that the user had forgotten, among them those in which they asked for it; newest first."""


@dataclass(frozen=True, kw_only=True)
class SummaryMaterial:
    """What the summary of a session is made of."""

    compaction: str
    """The rolling summary of the thread; empty if there is none."""
    earlier: SessionSummary | None
    """The summary of the session as it was made last."""
    remainder: Sequence[TurnRecord]
    """What neither covers, oldest first: at most the newest `MAX_REMAINDER` turns."""
    compacted_rounds: int
    """Rounds that the rolling summary covers."""
    since: datetime | None
    """When the session began."""
    compacted_at: datetime | None
    """When the last round that the rolling summary covers ended."""


class BatchRequests:
    """The table of prompts.

    Raises, from every method:
        StorageError: The database failed.
    """

    def __init__(self, pool: Pool, *, jobs: BatchJobs, sealer: FieldSealer, memories: PostgresMemories) -> None:
        """Use `pool`, whose owner closes it."""
        self._pool = pool
        self._jobs = jobs
        self._sealer = sealer
        self._memories = memories

    async def waiting(self, user_key: UUID | None = None) -> Waiting:
        """Return how many prompts wait for a batch, of one user if given."""
        [row] = await fetch(self._pool, _WAITING, {"only": user_key})
        return Waiting(requests=row["requests"], seconds=float(row["seconds"] or 0.0))

    async def assign(self, job: BatchJob, *, limit: int, user_key: UUID | None = None) -> list[StoredRequest]:
        """Put at most `limit` pending prompts into `job`, of one user if given; return all that it has.

        Others who do the same at the same moment get other ones.
        """
        found = await fetch(self._pool, _PENDING, {"limit": limit, "only": user_key})
        if found:
            await self._run_held(job, _ASSIGN, {"job_key": job.job_key, **_keys(found)})
        return await self.of_job(job)

    async def of_job(self, job: BatchJob) -> list[StoredRequest]:
        """Return the prompts of `job` whose result is still to come."""
        rows = await fetch(self._pool, _OF_JOB, {"job_key": job.job_key})
        return [StoredRequest(**{**row, "request_ids": tuple(row["request_ids"])}) for row in rows]

    async def give_back(self, job: BatchJob, requests: Sequence[StoredRequest]) -> None:
        """Take prompts out of a job that was not handed in: they wait for the next one."""
        if requests:
            keys = [{"user_key": each.user_key, "request_key": each.request_key} for each in requests]
            await self._run_held(job, _GIVE_BACK, {"job_key": job.job_key, **_keys(keys)})

    async def end(
        self,
        job: BatchJob,
        request: StoredRequest,
        state: str,
        *,
        error: str | None = None,
        input_tokens: int = 0,
        output_tokens: int = 0,
    ) -> bool:
        """Note that nothing comes of a prompt, `failed` or `cancelled`; False if something has already."""
        given = {
            "job_key": job.job_key,
            "user_key": request.user_key,
            "request_key": request.request_key,
            "state": state,
            "error": error,
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
        }
        return await self._run_held(job, _END, given) > 0

    async def settle_rest(
        self, job: BatchJob, *, is_cancelled: bool, error: str | None = None, delay: float = 0.0
    ) -> int:
        """Let what has no result wait for another batch, in `delay` seconds, unless it was tried too often or is not wanted."""
        given = {"job_key": job.job_key, "is_cancelled": is_cancelled, "error": error, "delay": delay}
        return await self._run_held(job, _LEFT_OVER, given)

    async def retry(self, job_key: UUID) -> int:
        """Let the failed and cancelled prompts of a job wait for another one; return how many."""
        return await run(self._pool, _RETRY, {"job_key": job_key})

    async def causes(self, user_key: UUID) -> frozenset[str]:
        """Return the codes of why prompts of a user that wait, or failed, got no answer."""
        return frozenset(row["error"] for row in await fetch(self._pool, _CAUSES, {"user_key": user_key}))

    async def figures(self, job: BatchJob) -> dict[str, int]:
        """Return what came of a job, by name: prompts by state, tokens, and the numbers of all outcomes."""
        figures: dict[str, int] = {"input_tokens": 0, "output_tokens": 0}
        for row in await fetch(self._pool, _STATES, {"job_key": job.job_key}):
            figures[row["state"]] = row["requests"]
            figures["input_tokens"] += row["input_tokens"]
            figures["output_tokens"] += row["output_tokens"]
        outcomes = await fetch(self._pool, _OUTCOMES, {"job_key": job.job_key})
        return figures | {row["name"]: row["number"] for row in outcomes}

    async def extraction_material(self, request: StoredRequest) -> ExtractionMaterial:
        """Return what the prompt of `request` is made of, as it stands now."""
        turns = await self._turns(_TURNS, request, request_ids=list(request.request_ids))
        forgotten = await self._turns(_FORGOTTEN, request)
        filters = MemoryFilters(app_name=request.app_name, types=list(FACTS))
        known = await self._memories.latest_of(request.user_key, limit=MAX_KNOWN, filters=filters)
        return ExtractionMaterial(turns=turns, known=known, forgotten=forgotten)

    async def begin_summary(self, request: StoredRequest) -> None:
        """Note what was forgotten so far: if more is when the answer comes, the summary is made anew."""
        await run(
            self._pool,
            _BEGIN_SUMMARY,
            {"user_key": request.user_key, "request_key": request.request_key, "thread_key": request.thread_key},
        )

    async def note_failure(self, job: BatchJob, request: StoredRequest, error: str) -> None:
        """Note why a prompt got no result, for people who look."""
        await self._run_held(
            job,
            _NOTE_FAILURE,
            {"job_key": job.job_key, "user_key": request.user_key, "request_key": request.request_key, "error": error},
        )

    async def summary_material(self, request: StoredRequest) -> SummaryMaterial:
        """Return what the session of `request` is summarised from, as it stands now."""
        given = {"user_key": request.user_key, "thread_key": request.thread_key}
        rolling = next(iter(await fetch(self._pool, _COMPACTION, given)), None)
        stored = next(iter(await fetch(self._pool, READ_SUMMARY, given)), None)
        earlier = None
        if stored is not None:
            with suppress(EncryptionError), reported("session_summary", request.thread_key):
                earlier = summary_from(stored, self._sealer)
        text = "" if rolling is None else text_of_summary(rolling, self._sealer)
        ends = [earlier.ended_at] if earlier else []
        after = rolling["covered_at"] if rolling is not None and text else next(iter(ends), None)
        remainder = await self._turns(_REMAINDER, request, after=after)
        return SummaryMaterial(
            compaction=text,
            earlier=earlier,
            remainder=remainder[::-1],
            compacted_rounds=rolling["rounds"] if rolling is not None and text else 0,
            since=None if rolling is None else rolling["began_at"],
            compacted_at=None if rolling is None else rolling["ended_at"],
        )

    async def _turns(self, statement: LiteralString, request: StoredRequest, **given: Any) -> list[TurnRecord]:
        of = {"user_key": request.user_key, "thread_key": request.thread_key, "thread_id": request.thread_id}
        return turns_from(await fetch(self._pool, statement, {**of, **given}), self._sealer)

    async def _run_held(self, job: BatchJob, statement: LiteralString, given: Mapping[str, Any]) -> int:
        async with self._jobs.holding(job) as cursor:
            return (await cursor.execute(statement, given)).rowcount


def _keys(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[UUID]]:
    return {"user_keys": [row["user_key"] for row in rows], "request_keys": [row["request_key"] for row in rows]}
