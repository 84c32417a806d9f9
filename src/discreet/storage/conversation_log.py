"""The conversation log and the session records, redacted once more on the way in."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, LiteralString

from psycopg.types.json import Jsonb

from discreet.driver_errors import storage_errors
from discreet.errors import EncryptionError
from discreet.ports import TextRedactor
from discreet.state.context import check_user_id
from discreet.state.records import TurnRecord
from discreet.storage.keys import digest
from discreet.storage.pool import Pool
from discreet.storage.redacting import redacted_turn
from discreet.storage.sealing import FieldSealer

_APPEND: LiteralString = """
WITH found AS (
    SELECT user_key FROM discreet.person WHERE user_id = %(user_id)s
),
made AS (
    INSERT INTO discreet.person (user_id)
    SELECT %(user_id)s WHERE %(user_id)s::text IS NOT NULL AND NOT EXISTS (SELECT FROM found)
    ON CONFLICT DO NOTHING
    RETURNING user_key
),
speaker AS (
    SELECT user_key FROM found
    UNION ALL SELECT user_key FROM made
    UNION ALL SELECT NULL WHERE %(user_id)s::text IS NULL
),
turn AS (
    INSERT INTO discreet.conversation_log AS l (
        request_id, session_key, user_key, app_name, agent_id, modality, media, input_text, output_text,
        sealed_input, sealed_output, is_emergency, loop_flag, provenance, started_at, ended_at
    )
    SELECT
        %(request_id)s, %(session_key)s, user_key, %(app_name)s, %(agent_id)s, %(modality)s, %(media)s, %(input_text)s,
        %(output_text)s, %(sealed_input)s, %(sealed_output)s, %(is_emergency)s, %(loop_flag)s, %(provenance)s,
        %(started_at)s, %(ended_at)s
    FROM speaker
    ON CONFLICT (request_id) DO UPDATE SET
        modality = excluded.modality, media = excluded.media, input_text = excluded.input_text,
        output_text = excluded.output_text, sealed_input = excluded.sealed_input,
        sealed_output = excluded.sealed_output, is_emergency = excluded.is_emergency,
        loop_flag = excluded.loop_flag, provenance = excluded.provenance, started_at = excluded.started_at,
        ended_at = excluded.ended_at
    WHERE l.session_key = excluded.session_key
    RETURNING xmax = 0 AS is_new
),
session AS (
    INSERT INTO discreet.session_record AS s (
        session_key, user_key, thread_id, locale, intent, sealed_intent, started_at, ended_at, rounds
    )
    SELECT
        %(session_key)s, user_key, %(thread_id)s, %(locale)s, %(intent)s, %(sealed_intent)s, %(started_at)s,
        %(ended_at)s, 1
    FROM speaker, turn
    WHERE is_new
    ON CONFLICT (session_key) DO UPDATE SET
        started_at = least(s.started_at, excluded.started_at),
        ended_at = greatest(s.ended_at, excluded.ended_at),
        rounds = s.rounds + 1,
        locale = coalesce(excluded.locale, s.locale),
        intent = CASE WHEN %(intent_told)s THEN excluded.intent ELSE s.intent END,
        sealed_intent = CASE WHEN %(intent_told)s THEN excluded.sealed_intent ELSE s.sealed_intent END
)
SELECT
    EXISTS (SELECT FROM speaker) AS is_known,
    coalesce((SELECT is_new FROM turn), false) AS is_new,
    set_config('synchronous_commit', 'off', true)
"""
"""One statement, one round trip: a row that was made has no xmax. It doesn't wait for the disk."""


class PostgresConversationLog:
    """The `ConversationLog` port over PostgreSQL."""

    def __init__(self, pool: Pool, *, redactor: TextRedactor, sealer: FieldSealer) -> None:
        """Use `pool`, whose owner closes it."""
        self._pool = pool
        self._redactor = redactor
        self._sealer = sealer

    async def append(self, turn: TurnRecord) -> bool:
        """Store one turn and touch its session record; False if it took the place of the same request's.

        A crash of the server may lose the turns of the last moments: the log doesn't wait for the disk.

        Raises:
            InvalidUserError: `turn.user_id` can't be used.
            StorageError: Nothing was stored.
        """
        if turn.user_id is not None:
            check_user_id(turn.user_id)
        turn = await asyncio.to_thread(redacted_turn, turn, self._redactor)
        session_key = digest(turn.user_id or "", turn.thread_id)
        values = {
            **turn.model_dump(exclude={"media", "provenance", "input_text", "output_text", "intent"}),
            **self._texts(turn, str(session_key)),
            "session_key": session_key,
            "provenance": Jsonb(turn.provenance.model_dump(exclude_none=True)),
            "media": Jsonb(turn.media) if turn.media else None,
        }
        with storage_errors():
            async with self._pool.connection() as conn, conn.cursor(binary=True) as cursor:
                while True:
                    row = await (await cursor.execute(_APPEND, values)).fetchone()
                    if row is not None and row["is_known"]:
                        return bool(row["is_new"])
                    # Another session made the person since the statement began; the next statement sees them.

    def _texts(self, turn: TurnRecord, session: str) -> dict[str, str | bytes | bool | None]:
        """Return the columns that hold what was said, and in few words what about."""
        said, sealed_said = self._sealer.split(turn.input_text, *_owner("input", turn.request_id))
        answer, sealed_answer = self._sealer.split(turn.output_text, *_owner("output", turn.request_id))
        texts = {"input_text": said, "sealed_input": sealed_said, "output_text": answer, "sealed_output": sealed_answer}
        intent, sealed = None, None
        if turn.intent is not None:
            intent, sealed = self._sealer.split(turn.intent, "session", "intent", session)
        return {**texts, "intent": intent, "sealed_intent": sealed, "intent_told": turn.intent is not None}


def text_of_turn(row: Mapping[str, Any], sealer: FieldSealer) -> str:
    """Return what was said and answered in a row of the log; empty if its key is lost."""
    try:
        said = sealer.join(row["input_text"], row["sealed_input"], *_owner("input", row["request_id"]))
        answer = sealer.join(row["output_text"], row["sealed_output"], *_owner("output", row["request_id"]))
    except EncryptionError:
        return ""
    return f"{said}\n{answer}"


def _owner(field: str, request_id: str) -> tuple[str, str, str]:
    return "log", field, request_id
