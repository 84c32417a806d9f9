"""Kinds of rows that are written as they are: found by their keys, put there if they are not, never changed if they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, LiteralString
from uuid import UUID

from discreet.ports import TextRedactor, of_thread
from discreet.redaction.records import redacted_record, redacted_summary, redacted_turn
from discreet.rights.exporting.format import (
    ExportRecord,
    ForgottenRoundRow,
    MemoryRow,
    ProposalRow,
    RollingSummaryRow,
    SessionRow,
    SessionSummaryRow,
    TurnRow,
)
from discreet.state.background import SessionSummary
from discreet.state.records import MemoryRecord, TurnRecord
from discreet.storage.conversation.turn_rows import turn_columns
from discreet.storage.database.keys import digest
from discreet.storage.database.sealed_columns import PROPOSAL, ROLLING_SUMMARY, SESSION_INTENT, SESSION_SUMMARY
from discreet.storage.database.sealing import FieldSealer

Fields = dict[str, Any]
Key = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class Table:
    """One kind of rows of a user."""

    kind: str
    """As the report has it."""
    found: LiteralString
    """Selects the keys of those that are there, of rows whose last part of the key is one of `keys`."""
    insert: LiteralString
    """Puts one row there, unless it is."""
    key: Callable[[Any], Key]
    """Returns what a record is found by, as `found` has it."""
    redacted: Callable[[Any, TextRedactor], Any]
    """Returns a record as it may be stored. Takes the longest of all."""
    columns: Callable[[Any, UUID, FieldSealer], Fields]
    """Returns the columns of a redacted record, beside the user's."""


def _turn(turn: TurnRecord, user_key: UUID, sealer: FieldSealer, thread_key: UUID | None = None) -> Fields:
    thread_key = thread_key or digest(turn.thread_id)
    said = {"user_id", "media", "provenance", "input_text", "output_text", "intent"}
    intent, sealed = _intent(turn.intent, user_key, thread_key, sealer)
    return {
        **turn.model_dump(exclude=said),
        **turn_columns(turn, user_key, thread_key, sealer),
        "thread_key": thread_key,
        "extraction_key": None,
        "intent": intent,
        "sealed_intent": sealed,
    }


def _turn_of(row: TurnRow) -> TurnRecord:
    """Return the turn that a row of an export is; of a session that nobody knows any more if it is in none."""
    values = row.model_dump(exclude={"thread_key", "extraction_key", "thread_id"})
    return TurnRecord(**values, user_id=None, thread_id=row.thread_id or "")


def _exported_turn(row: TurnRow, user_key: UUID, sealer: FieldSealer) -> Fields:
    return _turn(_turn_of(row), user_key, sealer, row.thread_key) | {"extraction_key": row.extraction_key}


def _redacted_turn_row(row: TurnRow, redactor: TextRedactor) -> TurnRow:
    turn = redacted_turn(_turn_of(row), redactor)
    said = turn.model_dump(mode="json", include={"media", "input_text", "output_text"})
    return row.model_copy(update=said)


def _intent(intent: str | None, user_key: UUID, thread_key: UUID, sealer: FieldSealer) -> tuple[str | None, Any]:
    return (None, None) if intent is None else sealer.split(intent, SESSION_INTENT, user_key, thread_key)


def _session(row: SessionRow, user_key: UUID, sealer: FieldSealer) -> Fields:
    intent, sealed = _intent(row.intent, user_key, row.thread_key, sealer)
    return row.model_dump() | {"intent": intent, "sealed_intent": sealed}


def _redacted_session(row: SessionRow, redactor: TextRedactor) -> SessionRow:
    return row.model_copy(update={"intent": None if row.intent is None else redactor.redact(row.intent)})


def _summary_of(row: SessionSummaryRow) -> SessionSummary:
    return SessionSummary(**row.model_dump(exclude={"thread_id", "app_name"}))


def _redacted_session_summary(row: SessionSummaryRow, redactor: TextRedactor) -> SessionSummaryRow:
    return row.model_copy(update=redacted_summary(_summary_of(row), redactor).model_dump())


def _session_summary(row: SessionSummaryRow, user_key: UUID, sealer: FieldSealer) -> Fields:
    thread_key = digest(row.thread_id)
    text = row.model_dump(include={"summary", "topics", "key_facts"})
    said, sealed = sealer.split(json.dumps(text, ensure_ascii=False), SESSION_SUMMARY, user_key, thread_key)
    return row.model_dump() | {"thread_key": thread_key, "said": said, "sealed_said": sealed}


def _rolling_summary(row: RollingSummaryRow, user_key: UUID, sealer: FieldSealer) -> Fields:
    thread_key = digest(row.thread_id)
    told = row.model_dump()
    text, sealed = sealer.split(row.text, ROLLING_SUMMARY, *ROLLING_SUMMARY.at((user_key, thread_key), told))
    return told | {"thread_key": thread_key, "text": text, "sealed_text": sealed}


def _redacted_rolling(row: RollingSummaryRow, redactor: TextRedactor) -> RollingSummaryRow:
    return row.model_copy(update={"text": of_thread(redactor, row.thread_id).redact(row.text)})


def _redacted_proposal(row: ProposalRow, redactor: TextRedactor) -> ProposalRow:
    record = redacted_record(MemoryRecord(**row.record), redactor)
    return row.model_copy(update={"record": record.model_dump(mode="json")})


def _proposal(row: ProposalRow, user_key: UUID, sealer: FieldSealer) -> Fields:
    record, sealed = sealer.split(json.dumps(row.record, ensure_ascii=False), PROPOSAL, user_key, row.proposal_key)
    return row.model_dump() | {"record": record, "sealed_record": sealed}


_INSERT_TURN: LiteralString = """
INSERT INTO discreet.conversation_log (
    user_key, request_id, thread_key, app_name, agent_id, modality, media, sealed_media, input_text, output_text,
    sealed_input, sealed_output, is_emergency, loop_flag, provenance, sealed_provenance, started_at, ended_at, answer_id,
    extraction_key
) VALUES (
    %(user_key)s, %(request_id)s, %(thread_key)s, %(app_name)s, %(agent_id)s, %(modality)s, %(media)s, %(sealed_media)s,
    %(input_text)s, %(output_text)s, %(sealed_input)s, %(sealed_output)s, %(is_emergency)s, %(loop_flag)s, %(provenance)s,
    %(sealed_provenance)s, %(started_at)s, %(ended_at)s, %(answer_id)s, %(extraction_key)s
)
ON CONFLICT (user_key, request_id) DO NOTHING
"""

_TOUCH_SESSION: LiteralString = """
INSERT INTO discreet.session_record AS s (
    user_key, thread_key, thread_id, locale, intent, sealed_intent, started_at, ended_at, rounds, app_name, pending_since
)
VALUES (
    %(user_key)s, %(thread_key)s, %(thread_id)s, %(locale)s, %(intent)s, %(sealed_intent)s, %(started_at)s, %(ended_at)s, 1,
    %(app_name)s, now()
)
ON CONFLICT (user_key, thread_key) DO UPDATE SET
    started_at = least(s.started_at, excluded.started_at),
    ended_at = greatest(s.ended_at, excluded.ended_at),
    rounds = s.rounds + 1,
    pending_since = coalesce(s.pending_since, excluded.pending_since),
    locale = coalesce(excluded.locale, s.locale),
    intent = CASE WHEN excluded.intent IS NULL AND excluded.sealed_intent IS NULL THEN s.intent ELSE excluded.intent END,
    sealed_intent = CASE
        WHEN excluded.intent IS NULL AND excluded.sealed_intent IS NULL THEN s.sealed_intent ELSE excluded.sealed_intent
    END
"""
"""What a turn that is logged does to its session. One that is closed stays so: nobody has said anything now."""

_FOUND_TURNS: LiteralString = """
SELECT request_id FROM discreet.conversation_log WHERE user_key = %(user_key)s AND request_id = ANY (%(keys)s)
"""

TURNS: Final = Table(
    kind="log_turn",
    found=_FOUND_TURNS,
    insert=_INSERT_TURN,
    key=lambda turn: (turn.request_id,),
    redacted=redacted_turn,
    columns=_turn,
)
"""Turns of a source without sessions, which `touch_sessions` has to know of."""

_OF_EXPORTS: Final[Mapping[type[ExportRecord], Table]] = {
    TurnRow: Table(
        kind="log_turn",
        found=_FOUND_TURNS,
        insert=_INSERT_TURN,
        key=lambda row: (row.request_id,),
        redacted=_redacted_turn_row,
        columns=_exported_turn,
    ),
    SessionRow: Table(
        kind="session",
        found="SELECT thread_key FROM discreet.session_record WHERE user_key = %(user_key)s AND thread_key = ANY (%(keys)s)",
        insert="""
INSERT INTO discreet.session_record (
    user_key, thread_key, thread_id, locale, intent, sealed_intent, started_at, ended_at, rounds, app_name, closed_at,
    pending_since, taken_at, taken_rounds, compacted_rounds
) VALUES (
    %(user_key)s, %(thread_key)s, %(thread_id)s, %(locale)s, %(intent)s, %(sealed_intent)s, %(started_at)s, %(ended_at)s,
    %(rounds)s, %(app_name)s, %(closed_at)s, %(pending_since)s, %(taken_at)s, %(taken_rounds)s, %(compacted_rounds)s
)
ON CONFLICT (user_key, thread_key) DO NOTHING
""",
        key=lambda row: (row.thread_key,),
        redacted=_redacted_session,
        columns=_session,
    ),
    SessionSummaryRow: Table(
        kind="session_summary",
        found="SELECT thread_key FROM discreet.session_summary WHERE user_key = %(user_key)s AND thread_key = ANY (%(keys)s)",
        insert="""
INSERT INTO discreet.session_summary (
    user_key, thread_key, thread_id, app_name, said, sealed_said, event_count, started_at, ended_at
) VALUES (
    %(user_key)s, %(thread_key)s, %(thread_id)s, %(app_name)s, %(said)s, %(sealed_said)s, %(event_count)s, %(started_at)s,
    %(ended_at)s
)
ON CONFLICT (user_key, thread_key) DO NOTHING
""",
        key=lambda row: (digest(row.thread_id),),
        redacted=_redacted_session_summary,
        columns=_session_summary,
    ),
    RollingSummaryRow: Table(
        kind="rolling_summary",
        found="SELECT thread_key FROM discreet.rolling_summary WHERE user_key = %(user_key)s AND thread_key = ANY (%(keys)s)",
        insert="""
INSERT INTO discreet.rolling_summary (
    user_key, thread_key, thread_id, text, sealed_text, rounds, last_message_id, updated_at
) VALUES (
    %(user_key)s, %(thread_key)s, %(thread_id)s, %(text)s, %(sealed_text)s, %(rounds)s, %(last_message_id)s, %(updated_at)s
)
ON CONFLICT (user_key, thread_key) DO NOTHING
""",
        key=lambda row: (digest(row.thread_id),),
        redacted=_redacted_rolling,
        columns=_rolling_summary,
    ),
    ForgottenRoundRow: Table(
        kind="forgotten_round",
        found="""
SELECT thread_key, request_id FROM discreet.forgotten_round
WHERE user_key = %(user_key)s AND request_id = ANY (%(keys)s)
""",
        insert="""
INSERT INTO discreet.forgotten_round (user_key, thread_key, request_id, forgotten_at)
VALUES (%(user_key)s, %(thread_key)s, %(request_id)s, %(forgotten_at)s)
ON CONFLICT (user_key, thread_key, request_id) DO NOTHING
""",
        key=lambda row: (row.thread_key, row.request_id),
        redacted=lambda row, _: row,
        columns=lambda row, _key, _sealer: row.model_dump(),
    ),
    ProposalRow: Table(
        kind="proposal",
        found="""
SELECT proposal_key FROM discreet.memory_proposal WHERE user_key = %(user_key)s AND proposal_key = ANY (%(keys)s)
""",
        insert="""
INSERT INTO discreet.memory_proposal (user_key, proposal_key, created_at, request_ids, record, sealed_record)
VALUES (%(user_key)s, %(proposal_key)s, %(created_at)s, %(request_ids)s, %(record)s, %(sealed_record)s)
ON CONFLICT (user_key, proposal_key) DO NOTHING
""",
        key=lambda row: (row.proposal_key,),
        redacted=_redacted_proposal,
        columns=_proposal,
    ),
}


def table_of(record: object) -> Table | None:
    """Return where a record is written as it is; None if it is a memory, or an item of the store."""
    if isinstance(record, ExportRecord):
        return _OF_EXPORTS.get(type(record))
    return TURNS if isinstance(record, TurnRecord) else None


async def found_keys(cursor: Any, table: Table, user_key: UUID, records: Sequence[Any]) -> set[Key]:
    """Return the keys of those of `records` that are there."""
    keys = [table.key(record)[-1] for record in records]
    rows = await (await cursor.execute(table.found, {"user_key": user_key, "keys": keys})).fetchall()
    return {tuple(row.values()) for row in rows}


async def insert(cursor: Any, table: Table, user_key: UUID, records: Sequence[Any], sealer: FieldSealer) -> None:
    """Write redacted records of which none is there. The user must be held."""
    rows = [table.columns(record, user_key, sealer) | {"user_key": user_key} for record in records]
    await cursor.executemany(table.insert, rows)
    if table is TURNS:
        await cursor.executemany(_TOUCH_SESSION, rows)


_USES: LiteralString = """
INSERT INTO discreet.memory_stats (user_key, entry_id, hits, last_hit)
SELECT %(user_key)s, m.entry_id, %(hits)s, %(last_hit)s
FROM discreet.memory m
WHERE m.user_key = %(user_key)s AND m.entry_id = %(entry_id)s AND %(hits)s > 0
ON CONFLICT (user_key, entry_id) DO NOTHING
"""

_CONFLICTS: LiteralString = """
INSERT INTO discreet.memory_conflict (user_key, older, newer)
SELECT %(user_key)s, o.entry_id, n.entry_id
FROM discreet.memory o
JOIN discreet.memory n ON n.user_key = %(user_key)s AND n.entry_id = ANY (%(newer)s)
WHERE o.user_key = %(user_key)s AND o.entry_id = %(entry_id)s
ON CONFLICT (user_key, older, newer) DO NOTHING
"""


async def write_uses(cursor: Any, user_key: UUID, rows: Sequence[MemoryRow]) -> None:
    """Write how often memories were found, and which may contradict each other, where nothing is known of that."""
    for row in rows:
        given = {"user_key": user_key, "entry_id": row.entry_id, "hits": row.hits, "last_hit": row.last_hit}
        if row.hits:
            await cursor.execute(_USES, given)
        if row.contradicted_by:
            await cursor.execute(_CONFLICTS, {**given, "newer": list(row.contradicted_by)})
