"""Add feedback to one memory inside a transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncCursor

from discreet.errors import FeedbackLimitError
from discreet.state.records import MAX_FEEDBACK, MemoryRecord
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.memories.browsing import build_get
from discreet.storage.memories.rows import feedback_columns, record_from

_WRITE: LiteralString = """
UPDATE discreet.memory SET feedback = %(feedback)s, sealed_feedback = %(sealed_feedback)s
WHERE user_key = %(user_key)s AND entry_id = %(entry_id)s
"""


async def append_feedback(
    cursor: AsyncCursor[dict[str, Any]],
    user_key: UUID,
    entry_id: UUID,
    feedback: Mapping[str, Any],
    sealer: FieldSealer,
) -> MemoryRecord | None:
    """Add redacted `feedback`; None if there is no such entry. The user must be locked: it is read, then written.

    Raises:
        FeedbackLimitError: The entry has as much of it as one can have.
    """
    found = build_get(user_key, entry_id)
    row = await (await cursor.execute(found.statement, found.parameters)).fetchone()
    if row is None:
        return None
    record = record_from(row, sealer)
    if len(record.feedback) >= MAX_FEEDBACK:
        raise FeedbackLimitError
    record = record.model_copy(update={"feedback": [*record.feedback, dict(feedback)]})
    columns = feedback_columns(record, user_key, sealer)
    await cursor.execute(_WRITE, {"user_key": user_key, "entry_id": entry_id, **columns})
    return record
