"""Summaries of sessions, one a session, redacted, and sealed if there is a key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, LiteralString
from uuid import UUID

from discreet.state.background import SessionSummary
from discreet.storage.database.sealed_columns import SESSION_SUMMARY
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.database.users.users import Cursor

READ_SUMMARY: LiteralString = """
SELECT user_key, thread_key, said, sealed_said, event_count, started_at, ended_at
FROM discreet.session_summary
WHERE user_key = %(user_key)s AND thread_key = %(thread_key)s
"""

_WRITE: LiteralString = """
INSERT INTO discreet.session_summary (
    user_key, thread_key, thread_id, app_name, said, sealed_said, event_count, started_at, ended_at
)
VALUES (
    %(user_key)s, %(thread_key)s, %(thread_id)s, %(app_name)s, %(said)s, %(sealed_said)s, %(event_count)s, %(started_at)s,
    %(ended_at)s
)
ON CONFLICT (user_key, thread_key) DO UPDATE SET
    app_name = excluded.app_name, said = excluded.said, sealed_said = excluded.sealed_said,
    event_count = excluded.event_count, started_at = excluded.started_at, ended_at = excluded.ended_at
"""

_SAID = {"summary", "topics", "key_facts"}


def summary_from(row: Mapping[str, Any], sealer: FieldSealer) -> SessionSummary:
    """Return the summary of a row.

    Raises:
        EncryptionError: It can't be opened, see `FieldSealer.join`.
    """
    said = sealer.join(row["said"], row["sealed_said"], SESSION_SUMMARY, row["user_key"], row["thread_key"])
    times = {name: row[name] for name in ("event_count", "started_at", "ended_at")}
    return SessionSummary(**json.loads(said), **times)


async def write_summary(
    cursor: Cursor,
    user_key: UUID,
    thread_key: UUID,
    thread_id: str,
    *,
    app_name: str,
    summary: SessionSummary,
    sealer: FieldSealer,
) -> None:
    """Put a redacted summary in the place of the one before. The user must be held."""
    said, sealed = sealer.split(summary.model_dump_json(include=_SAID), SESSION_SUMMARY, user_key, thread_key)
    times = {"event_count": summary.event_count, "started_at": summary.started_at, "ended_at": summary.ended_at}
    key = {"user_key": user_key, "thread_key": thread_key, "thread_id": thread_id, "app_name": app_name}
    await cursor.execute(_WRITE, {**key, "said": said, "sealed_said": sealed, **times})
