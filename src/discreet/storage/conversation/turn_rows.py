"""Between a `TurnRecord` and its row in the conversation log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, LiteralString
from uuid import UUID

from discreet.errors import EncryptionError
from discreet.state.records import TurnRecord
from discreet.storage.database.sealed_columns import TURN_INPUT, TURN_MEDIA, TURN_OUTPUT, TURN_PROVENANCE, SealedColumn
from discreet.storage.database.sealing import FieldSealer, report_unreadable

TURN_COLUMNS: LiteralString = """
    l.user_key, l.request_id, l.thread_key, l.app_name, l.agent_id, l.modality, l.media, l.sealed_media, l.input_text, l.sealed_input,
    l.output_text, l.sealed_output, l.is_emergency, l.loop_flag, l.provenance, l.sealed_provenance, l.started_at, l.ended_at,
    l.answer_id
"""
"""What `turns_from` needs, of `discreet.conversation_log l`, beside the thread_id."""

READ_TURNS: LiteralString = f"""
SELECT s.thread_id, {TURN_COLUMNS}
FROM discreet.conversation_log l
JOIN discreet.session_record s ON s.user_key = l.user_key AND s.thread_key = l.thread_key
WHERE l.user_key = %(user_key)s AND s.user_key = %(user_key)s
  AND (%(thread_key)s::uuid IS NULL OR l.thread_key = %(thread_key)s)
  AND (%(after)s::timestamptz IS NULL OR l.started_at >= %(after)s)
  AND (%(before)s::timestamptz IS NULL OR l.started_at < %(before)s)
ORDER BY l.started_at, l.request_id
LIMIT %(limit)s
"""

_READ_AS_THEY_ARE = ("request_id", "thread_id", *(name for name in TURN_INPUT.bound if name != "thread_key"))


def turns_from(
    rows: Iterable[Mapping[str, Any]], sealer: FieldSealer, *, user_id: str | None = None
) -> list[TurnRecord]:
    """Return the turns of rows, but for those that can't be opened, which are counted and named by their ids in the log."""
    turns, unreadable = [], []
    for row in rows:
        try:
            turns.append(turn_from(row, sealer, user_id=user_id))
        except EncryptionError:
            unreadable.append(row["request_id"])
    report_unreadable("turn", unreadable)
    return turns


def turn_from(row: Mapping[str, Any], sealer: FieldSealer, *, user_id: str | None = None) -> TurnRecord:
    """Return the turn of a row.

    Raises:
        EncryptionError: It can't be opened, see `FieldSealer.join`.
    """
    said = {
        "input_text": _opened(row, TURN_INPUT, sealer),
        "output_text": _opened(row, TURN_OUTPUT, sealer),
        "media": _opened_json(row, TURN_MEDIA, sealer) or [],
        "provenance": _opened_json(row, TURN_PROVENANCE, sealer),
    }
    return TurnRecord(user_id=user_id, **{name: row[name] for name in _READ_AS_THEY_ARE}, **said)


def texts_of_turns(rows: Iterable[Mapping[str, Any]], sealer: FieldSealer) -> list[str]:
    """Return what was said and answered in each row of the log; empty where it can't be opened, which `turns_from` would report."""
    texts, unreadable = [], []
    for row in rows:
        try:
            texts.append(f"{_opened(row, TURN_INPUT, sealer)}\n{_opened(row, TURN_OUTPUT, sealer)}")
        except EncryptionError:
            texts.append("")
            unreadable.append(row["request_id"])
    report_unreadable("turn", unreadable)
    return texts


def turn_columns(turn: TurnRecord, user_key: UUID, thread_key: UUID, sealer: FieldSealer) -> dict[str, Any]:
    """Return the columns that hold what was said and what came with it, sealed where there is a key."""
    clear = {**turn.model_dump(include={*TURN_INPUT.bound}), "thread_key": thread_key}
    said, sealed_said = sealer.split(turn.input_text, TURN_INPUT, *TURN_INPUT.at((user_key, turn.request_id), clear))
    answer, sealed_answer = sealer.split(turn.output_text, TURN_OUTPUT, user_key, turn.request_id)
    media, sealed_media = None, None
    if turn.media:
        media, sealed_media = sealer.split_json(turn.media, TURN_MEDIA, user_key, turn.request_id)
    known = turn.provenance.model_dump(exclude_none=True)
    provenance, sealed_provenance = sealer.split_json(known, TURN_PROVENANCE, user_key, turn.request_id)
    return {
        "input_text": said,
        "sealed_input": sealed_said,
        "output_text": answer,
        "sealed_output": sealed_answer,
        "media": media,
        "sealed_media": sealed_media,
        "provenance": provenance,
        "sealed_provenance": sealed_provenance,
    }


def _opened(row: Mapping[str, Any], column: SealedColumn, sealer: FieldSealer) -> str:
    place = column.at((row["user_key"], row["request_id"]), row)
    return sealer.join(row[column.plain], row[column.name], column, *place)


def _opened_json(row: Mapping[str, Any], column: SealedColumn, sealer: FieldSealer) -> Any:
    return sealer.join_json(row[column.plain], row[column.name], column, row["user_key"], row["request_id"])
