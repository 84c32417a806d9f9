"""What came of a prompt, written together with the mark that it was: applied once, however often it is delivered."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, LiteralString
from uuid import UUID

from psycopg.types.json import Jsonb

from discreet.ports import TextRedactor
from discreet.redaction.records import redacted_summary
from discreet.state.background import BatchJob, SessionSummary, StoredRequest
from discreet.state.records import MAX_MEMORY_CHARS, MemoryRecord, Provenance, summary_id
from discreet.storage.background.proposals import propose
from discreet.storage.background.summaries import write_summary
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.database.users.users import Cursor
from discreet.storage.memories.memories import PostgresMemories
from discreet.storage.memories.unit_of_work import UnitOfWork

_APPLY: LiteralString = """
UPDATE discreet.batch_requests
SET state = 'applied', done_at = now(), error = NULL,
    input_tokens = %(input_tokens)s, output_tokens = %(output_tokens)s
WHERE user_key = %(user_key)s AND request_key = %(request_key)s AND state = 'submitted' AND job_key = %(job_key)s
RETURNING request_key
"""

_OUTCOME: LiteralString = """
UPDATE discreet.batch_requests SET outcome = %(outcome)s
WHERE user_key = %(user_key)s AND request_key = %(request_key)s
"""

_FORGOTTEN_SINCE: LiteralString = """
SELECT
    (SELECT count(*) FROM discreet.forgotten_round WHERE user_key = %(user_key)s AND thread_key = %(thread_key)s)
    > forgotten_rounds AS is_outdated
FROM discreet.batch_requests
WHERE user_key = %(user_key)s AND request_key = %(request_key)s
"""

_FORGOTTEN: LiteralString = """
SELECT request_id FROM discreet.forgotten_round
WHERE user_key = %(user_key)s AND thread_key = %(thread_key)s AND request_id = ANY (%(request_ids)s)
"""

_AGAIN: LiteralString = """
UPDATE discreet.batch_requests SET state = 'pending', job_key = NULL, due_at = now()
WHERE user_key = %(user_key)s AND request_key = %(request_key)s AND state = 'submitted' AND job_key = %(job_key)s
"""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one prompt's answer comes to."""

    records: Sequence[MemoryRecord] = ()
    """To be kept; `provenance.turns` has the turns that state each."""
    refused: Mapping[str, int] = field(default_factory=dict)
    """How many items were refused, by reason."""
    summary: SessionSummary | None = None
    provenance: Provenance = field(default_factory=Provenance)
    """Of the summary."""
    input_tokens: int = 0
    output_tokens: int = 0


class _PreviewedError(Exception):
    """Rolls a transaction back."""


class BatchResults:
    """Applies answers.

    Raises, from every method:
        UserErasedError: The user was erased since their turns were taken; nothing was stored.
        StorageError: Nothing was stored, and the prompt is as it was.
    """

    def __init__(self, *, memories: PostgresMemories, redactor: TextRedactor, sealer: FieldSealer) -> None:
        self._memories = memories
        self._redactor = redactor
        self._sealer = sealer

    async def apply(
        self, job: BatchJob, request: StoredRequest, outcome: Outcome, *, review: bool = False
    ) -> Mapping[str, int] | None:
        """Store what an answer comes to and mark its prompt, in one transaction; return the numbers, None if it was done before.

        What was stated in turns that the user has had forgotten meanwhile is refused, and a summary of such is made anew. With
        `review` the memories wait as proposals, summaries too.
        """
        if outcome.summary is not None:
            return await self._apply_summary(job, request, outcome, review=review)
        prepared = await self._memories.prepare(outcome.records)
        async with self._memories.unit_of_work(request.user_key, epoch=request.epoch) as unit:
            if not await _mark(unit.cursor, job, request, outcome):
                return None
            forgotten = await _forgotten(unit.cursor, request)
            kept = [n for n, each in enumerate(prepared.records) if forgotten.isdisjoint(each.provenance.turns or ())]
            numbers = {f"refused_{reason}": count for reason, count in outcome.refused.items()}
            if late := len(prepared.records) - len(kept):
                numbers["refused_forgotten"] = numbers.get("refused_forgotten", 0) + late
            if review:
                await propose(unit.cursor, request.user_key, [prepared.records[n] for n in kept], self._sealer)
                numbers["proposed"] = len(kept)
            elif kept:
                numbers |= await saved(unit, prepared.only(kept))
            await _note(unit.cursor, request, numbers)
        return numbers

    async def preview(self, request: StoredRequest, outcome: Outcome) -> list[tuple[MemoryRecord, bool]]:
        """Return each record of an answer as it would be stored, and whether it is new; nothing is."""
        prepared = await self._memories.prepare(outcome.records)
        if not prepared.records:
            return []
        previewed: list[tuple[MemoryRecord, bool]] = []
        with suppress(_PreviewedError):
            async with self._memories.unit_of_work(request.user_key) as unit:
                written = await unit.save(prepared)
                given = {record.entry_id for record in prepared.records}
                previewed = [(record, record.entry_id in given) for record in written.stored]
                raise _PreviewedError  # undoes it
        return previewed

    async def _apply_summary(
        self, job: BatchJob, request: StoredRequest, outcome: Outcome, *, review: bool
    ) -> Mapping[str, int] | None:
        assert outcome.summary is not None
        summary = await asyncio.to_thread(redacted_summary, outcome.summary, self._redactor)
        record = MemoryRecord(
            entry_id=summary_id(request.thread_id),
            text=text_of(summary),
            type="conversation_summary",
            thread_id=request.thread_id,
            app_name=request.app_name,
            created_at=summary.ended_at,
            tags=["session"],
            provenance=outcome.provenance,
        )
        prepared = await self._memories.prepare([record])
        async with self._memories.unit_of_work(request.user_key, epoch=request.epoch) as unit:
            if await _is_outdated(unit.cursor, request):
                await unit.cursor.execute(_AGAIN, _key(job, request))
                return None
            if not await _mark(unit.cursor, job, request, outcome):
                return None
            await write_summary(
                unit.cursor,
                request.user_key,
                request.thread_key,
                request.thread_id,
                app_name=request.app_name,
                summary=summary,
                sealer=self._sealer,
            )
            if review:
                await propose(
                    unit.cursor, request.user_key, prepared.records, self._sealer, thread_key=request.thread_key
                )
            else:
                await unit.save(prepared)
            numbers = {"summaries": 1} | ({"proposed": 1} if review else {})
            await _note(unit.cursor, request, numbers)
        return numbers


def text_of(summary: SessionSummary) -> str:
    """Return a summary as one text: with the key facts that it does not say in the same words."""
    facts = [fact for fact in summary.key_facts if fact.casefold() not in summary.summary.casefold()]
    return "\n".join([summary.summary, *facts])[:MAX_MEMORY_CHARS]


async def saved(unit: UnitOfWork, prepared: Any) -> dict[str, int]:
    """Save and return the numbers: facts that are new, said again, and put in the place of older ones."""
    written = await unit.save(prepared)
    given = {record.entry_id for record in prepared.records}
    added = sum(record.entry_id in given for record in written.stored)
    return {
        "added": added - written.superseded,
        "superseded": written.superseded,
        "known": len(prepared.records) - added,
    }


async def _mark(cursor: Cursor, job: BatchJob, request: StoredRequest, outcome: Outcome) -> bool:
    tokens = {"input_tokens": outcome.input_tokens, "output_tokens": outcome.output_tokens}
    return await (await cursor.execute(_APPLY, {**_key(job, request), **tokens})).fetchone() is not None


async def _forgotten(cursor: Cursor, request: StoredRequest) -> frozenset[str]:
    given = {
        "user_key": request.user_key,
        "thread_key": request.thread_key,
        "request_ids": list(request.request_ids),
    }
    rows = await (await cursor.execute(_FORGOTTEN, given)).fetchall()
    return frozenset(row["request_id"] for row in rows)


async def _is_outdated(cursor: Cursor, request: StoredRequest) -> bool:
    """Whether rounds of the thread were forgotten since its summary was begun."""
    given = {
        "user_key": request.user_key,
        "thread_key": request.thread_key,
        "request_key": request.request_key,
    }
    row = await (await cursor.execute(_FORGOTTEN_SINCE, given)).fetchone()
    return row is not None and row["is_outdated"]


async def _note(cursor: Cursor, request: StoredRequest, numbers: Mapping[str, int]) -> None:
    told = {name: number for name, number in numbers.items() if number}
    key = {"user_key": request.user_key, "request_key": request.request_key}
    await cursor.execute(_OUTCOME, {**key, "outcome": Jsonb(told)})


def _key(job: BatchJob, request: StoredRequest) -> dict[str, UUID]:
    return {"job_key": job.job_key, "user_key": request.user_key, "request_key": request.request_key}
