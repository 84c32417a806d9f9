"""The conversation log and the session records, redacted once more on the way in."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, LiteralString
from uuid import UUID

from psycopg.types.json import Jsonb

from discreet.driver_errors import storage_errors
from discreet.errors import EncryptionError
from discreet.ports import TextRedactor
from discreet.redaction.records import redacted_turn
from discreet.state.records import TurnRecord
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.database.users.owners import Owners
from discreet.storage.database.users.users import OWNER, write_for_user

_APPEND: LiteralString = f"""
WITH {OWNER},
turn AS (
    INSERT INTO discreet.conversation_log AS l (
        user_key, request_id, thread_key, app_name, agent_id, modality, media, input_text, output_text,
        sealed_input, sealed_output, is_emergency, loop_flag, provenance, started_at, ended_at
    )
    SELECT
        user_key, %(request_id)s, %(thread_key)s, %(app_name)s, %(agent_id)s, %(modality)s, %(media)s, %(input_text)s,
        %(output_text)s, %(sealed_input)s, %(sealed_output)s, %(is_emergency)s, %(loop_flag)s, %(provenance)s,
        %(started_at)s, %(ended_at)s
    FROM owner
    ON CONFLICT (user_key, request_id) DO UPDATE SET
        modality = excluded.modality, media = excluded.media, input_text = excluded.input_text,
        output_text = excluded.output_text, sealed_input = excluded.sealed_input,
        sealed_output = excluded.sealed_output, is_emergency = excluded.is_emergency,
        loop_flag = excluded.loop_flag, provenance = excluded.provenance, started_at = excluded.started_at,
        ended_at = excluded.ended_at
    WHERE l.thread_key = excluded.thread_key
    RETURNING l.user_key, xmax = 0 AS is_new
),
session AS (
    INSERT INTO discreet.session_record AS s (
        user_key, thread_key, thread_id, locale, intent, sealed_intent, started_at, ended_at, rounds
    )
    SELECT
        user_key, %(thread_key)s, %(thread_id)s, %(locale)s, %(intent)s, %(sealed_intent)s, %(started_at)s, %(ended_at)s, 1
    FROM turn
    WHERE is_new
    ON CONFLICT (user_key, thread_key) DO UPDATE SET
        started_at = least(s.started_at, excluded.started_at),
        ended_at = greatest(s.ended_at, excluded.ended_at),
        rounds = s.rounds + 1,
        locale = coalesce(excluded.locale, s.locale),
        intent = CASE WHEN %(intent_told)s THEN excluded.intent ELSE s.intent END,
        sealed_intent = CASE WHEN %(intent_told)s THEN excluded.sealed_intent ELSE s.sealed_intent END
)
SELECT
    EXISTS (SELECT FROM owner) AS is_owner,
    coalesce((SELECT is_new FROM turn), false) AS is_new,
    set_config('synchronous_commit', 'off', true)
"""  # noqa: S608 - a constant of ours


class PostgresConversationLog:
    """The `ConversationLog` port over PostgreSQL."""

    def __init__(self, pool: Pool, *, redactor: TextRedactor, sealer: FieldSealer, owners: Owners) -> None:
        """Use `pool`, whose owner closes it."""
        self._pool = pool
        self._owners = owners
        self._redactor = redactor
        self._sealer = sealer

    async def append(self, turn: TurnRecord, *, epoch: int | None = None) -> bool:
        """Store one turn and touch its session record; False if it took the place of the same request's of that user.

        A request that the user has in another thread stays there as it is: False, too.

        A crash of the server may lose the turns of the last moments: the log doesn't wait for the disk.

        Raises:
            InvalidUserError: `turn.user_id` can't be used.
            UserErasedError: The user was erased since `epoch`; nothing was stored.
            StorageError: Nothing was stored.
        """
        owner = self._owners.of(turn.user_id, turn.thread_id)
        turn = await asyncio.to_thread(redacted_turn, turn, self._redactor)
        values = {
            **turn.model_dump(exclude={"user_id", "media", "provenance", "input_text", "output_text", "intent"}),
            **self._texts(turn, owner["user_key"], owner["thread_key"]),
            **owner,
            "epoch": epoch,
            "provenance": Jsonb(turn.provenance.model_dump(exclude_none=True)),
            "media": Jsonb(turn.media) if turn.media else None,
        }
        with storage_errors():
            row = await write_for_user(self._pool, _APPEND, values)
        return bool(row["is_new"])

    def _texts(self, turn: TurnRecord, user_key: UUID, thread_key: UUID) -> dict[str, str | bytes | bool | None]:
        """Return the columns that hold what was said, and in few words what about."""
        said, sealed_said = self._sealer.split(turn.input_text, *_owner("input", user_key, turn.request_id))
        answer, sealed_answer = self._sealer.split(turn.output_text, *_owner("output", user_key, turn.request_id))
        texts = {"input_text": said, "sealed_input": sealed_said, "output_text": answer, "sealed_output": sealed_answer}
        intent, sealed = None, None
        if turn.intent is not None:
            intent, sealed = self._sealer.split(turn.intent, "session", "intent", str(user_key), str(thread_key))
        return {**texts, "intent": intent, "sealed_intent": sealed, "intent_told": turn.intent is not None}


def text_of_turn(row: Mapping[str, Any], sealer: FieldSealer) -> str:
    """Return what was said and answered in a row of the log; empty if its key is lost."""
    try:
        said = sealer.join(row["input_text"], row["sealed_input"], *_owner("input", row["user_key"], row["request_id"]))
        answer = sealer.join(
            row["output_text"], row["sealed_output"], *_owner("output", row["user_key"], row["request_id"])
        )
    except EncryptionError:
        return ""
    return f"{said}\n{answer}"


def _owner(field: str, user_key: UUID, request_id: str) -> tuple[str, ...]:
    return "log", field, str(user_key), request_id
