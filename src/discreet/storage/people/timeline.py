"""What was kept of one person, newest first: turns, memories, summaries, prompts of batches, what waits, erasures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, LiteralString, get_args
from uuid import UUID

from discreet.errors import EncryptionError
from discreet.state.records import MemoryRecord
from discreet.storage.background.summaries import summary_from
from discreet.storage.conversation.turn_rows import TURN_COLUMNS, turn_from
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.sealed_columns import PROPOSAL, ROLLING_SUMMARY
from discreet.storage.database.sealing import FieldSealer, report_unreadable
from discreet.storage.database.statements import fetch
from discreet.storage.memories.rows import RECORD_COLUMNS, record_from

Kind = Literal["turn", "memory", "session_summary", "rolling_summary", "proposal", "job", "erasure"]
KINDS: tuple[Kind, ...] = get_args(Kind)

TimelineMark = tuple[datetime, str, str]
"""When, which kind and which id the last entry of a page has."""

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class TimelineEntry:
    """One thing that was kept, or done."""

    kind: Kind
    at: datetime
    id: str
    thread_id: str | None
    value: Any
    """A `TurnRecord`, a `MemoryRecord`, a `SessionSummary`, a text, or the columns of a row; None: it can't be opened."""

    @property
    def mark(self) -> TimelineMark:
        """Where the next page begins, if this is the last entry of one."""
        return self.at, self.kind, self.id


@dataclass(frozen=True, kw_only=True)
class _Source:
    at: LiteralString
    id: LiteralString
    rows: LiteralString
    """SELECT … FROM … WHERE … of all rows of a person."""
    value: Callable[[Row, FieldSealer], Any]


def _turn(row: Row, sealer: FieldSealer) -> Any:
    return turn_from({**row, "thread_id": row["thread_id"] or ""}, sealer)


def _rolling(row: Row, sealer: FieldSealer) -> str:
    key = row["user_key"], row["thread_key"]
    return sealer.join(row["text"], row["sealed_text"], ROLLING_SUMMARY, *ROLLING_SUMMARY.at(key, row))


def _proposal(row: Row, sealer: FieldSealer) -> MemoryRecord:
    key = row["user_key"], row["proposal_key"]
    return MemoryRecord.model_validate_json(sealer.join(row["record"], row["sealed_record"], PROPOSAL, *key))


def _as_it_is(row: Row, _sealer: FieldSealer) -> Row:
    return row


_SOURCES: Mapping[Kind, _Source] = {
    "turn": _Source(
        at="l.started_at",
        id="l.request_id",
        rows=f"""
SELECT s.thread_id, {TURN_COLUMNS}
FROM discreet.conversation_log l
LEFT JOIN discreet.session_record s ON s.user_key = %(user_key)s AND s.thread_key = l.thread_key
WHERE l.user_key = %(user_key)s
""",
        value=_turn,
    ),
    "memory": _Source(
        at="m.created_at",
        id="m.entry_id",
        rows=f"""
SELECT {RECORD_COLUMNS} FROM discreet.memory m WHERE m.user_key = %(user_key)s AND m.type NOT IN ('turn', 'item')
""",
        value=record_from,
    ),
    "session_summary": _Source(
        at="ended_at",
        id="thread_key",
        rows="""
SELECT user_key, thread_key, thread_id, said, sealed_said, event_count, started_at, ended_at
FROM discreet.session_summary WHERE user_key = %(user_key)s
""",
        value=summary_from,
    ),
    "rolling_summary": _Source(
        at="updated_at",
        id="thread_key",
        rows="""
SELECT user_key, thread_key, thread_id, text, sealed_text, rounds, last_message_id, updated_at
FROM discreet.rolling_summary WHERE user_key = %(user_key)s
""",
        value=_rolling,
    ),
    "proposal": _Source(
        at="created_at",
        id="proposal_key",
        rows="""
SELECT user_key, proposal_key, created_at, record, sealed_record
FROM discreet.memory_proposal WHERE user_key = %(user_key)s
""",
        value=_proposal,
    ),
    "job": _Source(
        at="created_at",
        id="request_key",
        rows="""
SELECT request_key, kind, thread_id, trigger, state, job_key, attempts, created_at, done_at, error,
    cardinality(request_ids) AS turns
FROM discreet.batch_requests WHERE user_key = %(user_key)s
""",
        value=_as_it_is,
    ),
    "erasure": _Source(
        at="asked_at",
        id="erasure_key",
        rows="""
SELECT erasure_key, scope, asked_at, done_at, asked_by FROM discreet.erasure WHERE user_key = %(user_key)s
""",
        value=_as_it_is,
    ),
}


def statement_of(kind: Kind, *, begins: bool) -> LiteralString:
    """Return the statement that reads the newest entries of a kind, or those before a mark."""
    source = _SOURCES[kind]
    mark: LiteralString = f'({source.at}, %(kind)s::text, {source.id}::text COLLATE "C")'
    before: LiteralString = (
        "" if begins else f"AND {source.at} <= %(at)s AND {mark} < (%(at)s, %(after_kind)s::text, %(after_id)s::text)"
    )
    return f'{source.rows} {before} ORDER BY {source.at} DESC, {source.id}::text COLLATE "C" DESC LIMIT %(limit)s'


async def read_timeline(
    pool: Pool, sealer: FieldSealer, user_key: UUID, *, kinds: Sequence[Kind], limit: int, before: TimelineMark | None
) -> list[TimelineEntry]:
    """Return at most `limit` entries of these kinds, newest first, and before a mark.

    Raises:
        StorageError: The database failed.
    """
    at, after_kind, after_id = before or (None, None, None)
    given = {"user_key": user_key, "limit": limit, "at": at, "after_kind": after_kind, "after_id": after_id}

    async def read(kind: Kind) -> list[TimelineEntry]:
        rows = await fetch(pool, statement_of(kind, begins=before is None), {**given, "kind": kind})
        entries = [_entry(kind, row, sealer) for row in rows]
        report_unreadable(kind, [entry.id for entry in entries if entry.value is None])
        return entries

    found = [entry for entries in await asyncio.gather(*map(read, kinds)) for entry in entries]
    return sorted(found, key=lambda entry: entry.mark, reverse=True)[:limit]


def _entry(kind: Kind, row: Row, sealer: FieldSealer) -> TimelineEntry:
    source = _SOURCES[kind]
    try:
        value = source.value(row, sealer)
    except EncryptionError:
        value = None
    at, key = (row[column.rpartition(".")[2]] for column in (source.at, source.id))
    return TimelineEntry(kind=kind, at=at, id=str(key), thread_id=row.get("thread_id"), value=value)
