"""Kinds of which each record is a row of a table: read by their keys, page by page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, LiteralString
from uuid import UUID

from discreet.rights.exporting.format import KINDS, ExportRecord
from discreet.rights.exporting.source import Key, KeyPart, Opened, Reading, opened
from discreet.storage.background.summaries import summary_from
from discreet.storage.conversation.turn_rows import TURN_COLUMNS, turn_from
from discreet.storage.database.sealed_columns import PROPOSAL, ROLLING_SUMMARY, SESSION_INTENT
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.database.statements import fetch
from discreet.storage.memories.rows import RECORD_COLUMNS, record_from

Row = Mapping[str, Any]
Fields = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Table:
    """One kind. No statement passes over rows: each page begins after a key, which no write changes."""

    kind: str
    rows: LiteralString
    """SELECT … FROM … WHERE … of all rows of a user."""
    key: Mapping[LiteralString, tuple[LiteralString, type]]
    """Columns that a row is found by, beside its user's; the database's type of each, and ours."""
    opened: Callable[[Row, FieldSealer], Fields] = lambda _row, _sealer: {}
    """Returns the fields that are not as a column has them, or raises `EncryptionError`."""

    @property
    def key_types(self) -> Sequence[type]:
        """Of what the key's columns hold."""
        return [kind for _, kind in self.key.values()]

    async def page(self, reading: Reading, after: Key | None, limit: int) -> Opened:
        """Return at most `limit` records after a key."""
        given = reading.parameters | {"limit": limit}
        if after is not None:
            given |= {f"after_{number}": part for number, part in enumerate(after)}
        statement = self.statement(begins=after is None)
        rows = await fetch(reading.pool, statement, given)
        records = [opened(self.kind, self._key_of(row), partial(self._record, row, reading.sealer)) for row in rows]
        return records, self._key_of(rows[-1]) if len(rows) == limit else None

    def statement(self, *, begins: bool) -> LiteralString:
        """Return the statement of a page: of the first, or of one after a key."""
        columns: LiteralString = ", ".join(self.key)
        marks: LiteralString = ", ".join(
            f"%(after_{number})s::{kind}" for number, (kind, _) in zip(_NUMBERS, self.key.values(), strict=False)
        )
        after: LiteralString = "" if begins else f"AND ({columns}) > ({marks})"
        return f"{self.rows} {after} ORDER BY {columns} LIMIT %(limit)s"

    def _record(self, row: Row, sealer: FieldSealer) -> ExportRecord:
        model, more = KINDS[self.kind], self.opened(row, sealer)
        return model.model_validate({name: row[name] for name in model.model_fields if name in row} | more)

    def _key_of(self, row: Row) -> Key:
        return tuple(_plain(row[column.rpartition(".")[2]]) for column in self.key)


_NUMBERS: Sequence[LiteralString] = ("0", "1", "2", "3")
_UUID: tuple[LiteralString, type] = ("uuid", UUID)
_TEXT: tuple[LiteralString, type] = ("text", str)
_NUMBER: tuple[LiteralString, type] = ("bigint", int)


def _plain(part: UUID | str | int) -> KeyPart:
    return str(part) if isinstance(part, UUID) else part


def _memory(row: Row, sealer: FieldSealer) -> Fields:
    record = record_from(row, sealer)
    said = {name: getattr(record, name) for name in ("text", "reasoning", "feedback", "tags", "conflict_flags")}
    vector = None if row["vector"] is None else [float(number) for number in row["vector"].to_list()]
    return {**said, "provenance": record.provenance.model_dump(exclude_none=True), "vector": vector}


def _turn(row: Row, sealer: FieldSealer) -> Fields:
    turn = turn_from({**row, "thread_id": row["thread_id"] or ""}, sealer)
    said = turn.model_dump(mode="json", include={"media", "input_text", "output_text"})
    return {**said, "provenance": turn.provenance.model_dump(exclude_none=True)}


def _session(row: Row, sealer: FieldSealer) -> Fields:
    key = row["user_key"], row["thread_key"]
    return {"intent": sealer.join_optional(row["intent"], row["sealed_intent"], SESSION_INTENT, *key)}


def _session_summary(row: Row, sealer: FieldSealer) -> Fields:
    return summary_from(row, sealer).model_dump()


def _rolling_summary(row: Row, sealer: FieldSealer) -> Fields:
    place = ROLLING_SUMMARY.at((row["user_key"], row["thread_key"]), row)
    return {"text": sealer.join(row["text"], row["sealed_text"], ROLLING_SUMMARY, *place)}


def _proposal(row: Row, sealer: FieldSealer) -> Fields:
    key = row["user_key"], row["proposal_key"]
    return {"record": json.loads(sealer.join(row["record"], row["sealed_record"], PROPOSAL, *key))}


MEMORIES = Table(
    kind="memories",
    rows=f"""
SELECT {RECORD_COLUMNS},
    CASE WHEN %(vectors)s THEN m.embedding END AS vector,
    CASE WHEN %(vectors)s THEN e.name END AS space,
    coalesce(s.hits, 0) AS hits, s.last_hit,
    ARRAY(
        SELECT c.newer FROM discreet.memory_conflict c
        WHERE c.user_key = %(user_key)s AND c.older = m.entry_id ORDER BY c.newer
    ) AS contradicted_by
FROM discreet.memory m
JOIN discreet.embedding_space e ON e.space_key = m.space_key
LEFT JOIN discreet.memory_stats s ON s.user_key = %(user_key)s AND s.entry_id = m.entry_id
WHERE m.user_key = %(user_key)s
""",
    key={"m.entry_id": _UUID},
    opened=_memory,
)

TABLES: Sequence[Table] = (
    MEMORIES,
    Table(
        kind="turns",
        rows=f"""
SELECT s.thread_id, l.extraction_key, {TURN_COLUMNS}
FROM discreet.conversation_log l
LEFT JOIN discreet.session_record s ON s.user_key = %(user_key)s AND s.thread_key = l.thread_key
WHERE l.user_key = %(user_key)s
""",
        key={"l.request_id": _TEXT},
        opened=_turn,
    ),
    Table(
        kind="forgotten_rounds",
        rows="""
SELECT thread_key, request_id, forgotten_at FROM discreet.forgotten_round WHERE user_key = %(user_key)s
""",
        key={"thread_key": _UUID, "request_id": _TEXT},
    ),
    Table(
        kind="sessions",
        rows="""
SELECT user_key, thread_key, thread_id, locale, intent, sealed_intent, started_at, ended_at, rounds, app_name, closed_at,
    pending_since, taken_at, taken_rounds, compacted_rounds
FROM discreet.session_record WHERE user_key = %(user_key)s
""",
        key={"thread_key": _UUID},
        opened=_session,
    ),
    Table(
        kind="session_summaries",
        rows="""
SELECT user_key, thread_key, thread_id, app_name, said, sealed_said, event_count, started_at, ended_at
FROM discreet.session_summary WHERE user_key = %(user_key)s
""",
        key={"thread_key": _UUID},
        opened=_session_summary,
    ),
    Table(
        kind="rolling_summaries",
        rows="""
SELECT user_key, thread_key, thread_id, text, sealed_text, rounds, last_message_id, updated_at
FROM discreet.rolling_summary WHERE user_key = %(user_key)s
""",
        key={"thread_key": _UUID},
        opened=_rolling_summary,
    ),
    Table(
        kind="proposals",
        rows="""
SELECT user_key, proposal_key, created_at, request_ids, record, sealed_record
FROM discreet.memory_proposal WHERE user_key = %(user_key)s
""",
        key={"proposal_key": _UUID},
        opened=_proposal,
    ),
    Table(
        kind="batch_requests",
        rows="""
SELECT request_key, kind, thread_id, app_name, trigger, request_ids, state, attempts, created_at, done_at, input_tokens,
    output_tokens, outcome, error
FROM discreet.batch_requests WHERE user_key = %(user_key)s
""",
        key={"request_key": _UUID},
    ),
    Table(
        kind="delegations",
        rows="""
SELECT delegate_key, granted_at, expires_at, granted_by, revoked_at
FROM discreet.delegation WHERE user_key = %(user_key)s
""",
        key={"delegate_key": _UUID},
    ),
    Table(
        kind="setting_changes",
        rows="""
SELECT change_id, name, old, new, changed_at FROM discreet.setting_change WHERE changed_by = %(pseudonym)s
""",
        key={"change_id": _NUMBER},
    ),
    Table(
        kind="audit",
        rows="""
SELECT number, at, actor_kind, actor, action, success, data, counts, request_id, ip_address, user_agent
FROM discreet.audit_entry WHERE user_key = %(user_key)s
""",
        key={"number": _NUMBER},
    ),
)
"""In no order that matters: `KINDS` has it."""
