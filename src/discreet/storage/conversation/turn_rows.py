"""Between a `TurnRecord` and its row in the conversation log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, LiteralString
from uuid import UUID

from discreet.errors import EncryptionError
from discreet.state.records import TurnRecord
from discreet.storage.database.sealing import FieldSealer, report_unreadable

TURN_COLUMNS: LiteralString = """
    l.user_key, l.request_id, l.app_name, l.agent_id, l.modality, l.media, l.input_text, l.sealed_input, l.output_text,
    l.sealed_output, l.is_emergency, l.loop_flag, l.provenance, l.started_at, l.ended_at, l.answer_id
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
"""  # noqa: S608  # constants of ours

_READ_AS_THEY_ARE = (
    "request_id",
    "thread_id",
    "app_name",
    "agent_id",
    "modality",
    "is_emergency",
    "loop_flag",
    "provenance",
    "started_at",
    "ended_at",
    "answer_id",
)


def turns_from(
    rows: Iterable[Mapping[str, Any]], sealer: FieldSealer, *, user_id: str | None = None
) -> list[TurnRecord]:
    """Return the turns of rows, but for those whose key is not known, which are counted and named by their ids in the log."""
    turns, unreadable = [], []
    for row in rows:
        try:
            texts = {name: _text(row, name, sealer) for name in ("input", "output")}
        except EncryptionError:
            unreadable.append(row["request_id"])
            continue
        said = {f"{name}_text": text for name, text in texts.items()}
        values = {name: row[name] for name in _READ_AS_THEY_ARE}
        turns.append(TurnRecord(user_id=user_id, media=row["media"] or [], **values, **said))
    report_unreadable("turn", unreadable)
    return turns


def text_of_turn(row: Mapping[str, Any], sealer: FieldSealer) -> str:
    """Return what was said and answered in a row of the log; empty if its key is lost."""
    try:
        return f"{_text(row, 'input', sealer)}\n{_text(row, 'output', sealer)}"
    except EncryptionError:
        return ""


def turn_owner(field: str, user_key: UUID, request_id: str) -> tuple[str, ...]:
    """Return what a sealed field belongs to: moved to another row or column it can't be opened."""
    return "log", field, str(user_key), request_id


def _text(row: Mapping[str, Any], field: str, sealer: FieldSealer) -> str:
    owner = turn_owner(field, row["user_key"], row["request_id"])
    return sealer.join(row[f"{field}_text"], row[f"sealed_{field}"], *owner)
