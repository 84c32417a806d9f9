"""The conversation log and the session records, redacted once more on the way in."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any, LiteralString
from uuid import UUID

from discreet.driver_errors import storage_errors
from discreet.errors import InvalidUserError
from discreet.ports import NoAudit, Round, ShortTermStore, TextRedactor
from discreet.redaction.beside import beside_loop
from discreet.redaction.records import redacted_turn, turn_chars
from discreet.state.records import TurnRecord
from discreet.storage.audit.log import ADDED_FOR, PostgresAuditLog
from discreet.storage.conversation.turn_rows import READ_TURNS, turn_columns, turns_from
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.sealed_columns import SESSION_INTENT
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.database.users.epochs import Epochs
from discreet.storage.database.users.owners import Owners
from discreet.storage.database.users.users import OWNER, change_for_user, write_for_user
from discreet.storage.short_term.postgres_store import PostgresShortTermStore
from discreet.storage.short_term.sql import APPENDED

_WRITE: LiteralString = f"""
WITH {OWNER},
turn AS (
    INSERT INTO discreet.conversation_log AS l (
        user_key, request_id, thread_key, app_name, agent_id, modality, media, sealed_media, input_text, output_text,
        sealed_input, sealed_output, is_emergency, loop_flag, provenance, sealed_provenance, started_at, ended_at, answer_id
    )
    SELECT
        user_key, %(request_id)s, %(thread_key)s, %(app_name)s, %(agent_id)s, %(modality)s, %(media)s, %(sealed_media)s,
        %(input_text)s, %(output_text)s, %(sealed_input)s, %(sealed_output)s, %(is_emergency)s, %(loop_flag)s,
        %(provenance)s, %(sealed_provenance)s, %(started_at)s, %(ended_at)s, %(answer_id)s
    FROM owner
    ON CONFLICT (user_key, request_id) DO UPDATE SET
        app_name = excluded.app_name, agent_id = excluded.agent_id, modality = excluded.modality, media = excluded.media, sealed_media = excluded.sealed_media,
        input_text = excluded.input_text,
        output_text = excluded.output_text, sealed_input = excluded.sealed_input,
        sealed_output = excluded.sealed_output, is_emergency = excluded.is_emergency,
        loop_flag = excluded.loop_flag, provenance = excluded.provenance,
        sealed_provenance = excluded.sealed_provenance, started_at = excluded.started_at,
        ended_at = excluded.ended_at, answer_id = excluded.answer_id
    WHERE l.thread_key = excluded.thread_key
    RETURNING l.user_key, xmax = 0 AS is_new
),
session AS (
    INSERT INTO discreet.session_record AS s (
        user_key, thread_key, thread_id, locale, intent, sealed_intent, started_at, ended_at, rounds, app_name, pending_since
    )
    SELECT
        user_key, %(thread_key)s, %(thread_id)s, %(locale)s, %(intent)s, %(sealed_intent)s, %(started_at)s, %(ended_at)s, 1,
        %(app_name)s, CASE WHEN %(expires_at)s::timestamptz IS NULL THEN now() END
    FROM turn
    WHERE is_new
    ON CONFLICT (user_key, thread_key) DO UPDATE SET
        started_at = least(s.started_at, excluded.started_at),
        ended_at = greatest(s.ended_at, excluded.ended_at),
        rounds = s.rounds + 1,
        app_name = excluded.app_name,
        closed_at = NULL,
        pending_since = coalesce(s.pending_since, excluded.pending_since),
        locale = coalesce(excluded.locale, s.locale),
        intent = CASE WHEN %(intent_told)s THEN excluded.intent ELSE s.intent END,
        sealed_intent = CASE WHEN %(intent_told)s THEN excluded.sealed_intent ELSE s.sealed_intent END
)
"""

_WRITTEN: LiteralString = """
SELECT
    EXISTS (SELECT FROM owner) AS is_owner,
    coalesce((SELECT is_new FROM turn), false) AS is_new,
    set_config('synchronous_commit', 'off', true)
"""

_AUDITED: LiteralString = f", {ADDED_FOR.format(written='turn')}"
_WITH_ROUND: LiteralString = f", {APPENDED}"

_END: LiteralString = f"""
WITH {OWNER},
ended AS (
    UPDATE discreet.session_record s SET closed_at = least(s.closed_at, now())
    FROM owner
    WHERE s.user_key = %(user_key)s AND s.user_key = owner.user_key AND s.thread_key = %(thread_key)s
    RETURNING s.rounds
)
SELECT EXISTS (SELECT FROM owner) AS is_owner, EXISTS (SELECT FROM ended) AS is_known
"""


class PostgresConversationLog:
    """The `ConversationLog` port over PostgreSQL."""

    def __init__(
        self,
        pool: Pool,
        *,
        redactor: TextRedactor,
        sealer: FieldSealer,
        owners: Owners,
        audit: PostgresAuditLog | NoAudit,
        joins: bool = True,
    ) -> None:
        """Use `pool`, whose owner closes it. `joins`: whether the database takes a turn and a round in one statement."""
        self._pool = pool
        self._joins = joins
        self._owners = owners
        self._redactor = redactor
        self._sealer = sealer
        self._audit = audit
        epochs = Epochs(pool, owners.keys)
        self.begin, self.check_run = epochs.begin, epochs.check_run
        """See `discreet.ports.BeginsWork`."""

    def logs_with(self, short_term: object) -> bool:
        """Return whether `append_with_round` takes these sessions: they are in the same database."""
        return self._joins and isinstance(short_term, PostgresShortTermStore) and short_term.pool is self._pool

    async def append_with_round(
        self, turn: TurnRecord, said: Round, short_term: ShortTermStore, *, epoch: int | None = None
    ) -> bool:
        """Do as `append`, and add a round to the session, both or neither.

        Raises:
            StorageError: Nothing was stored, as in `append`.
        """
        assert isinstance(short_term, PostgresShortTermStore), "ask `logs_with` first"
        assert turn.user_id is not None, "nobody has no session"
        given = await short_term.adding(turn.user_id, turn.thread_id, said)
        return await self._append(turn, epoch, _WITH_ROUND, given)

    async def append(self, turn: TurnRecord, *, epoch: int | None = None) -> bool:
        """Store one turn and touch its session record; False if it took the place of the same request's of that user.

        A request that the user has in another thread stays there as it is: False, too.

        A crash of the server may lose the turns of the last moments: the log doesn't wait for the disk.

        Raises:
            InvalidUserError: `turn.user_id` can't be used.
            SensitiveIdError: An id holds a sensitive value, and the settings refuse such ids; nothing was stored.
            UserErasedError: The user was erased since `epoch`; nothing was stored.
            StorageError: Nothing was stored.
        """
        return await self._append(turn, epoch)

    async def _append(
        self, turn: TurnRecord, epoch: int | None, beside: LiteralString = "", given: Mapping[str, Any] | None = None
    ) -> bool:
        """Append a turn by the statement that has `beside` too, with what is `given` for that."""
        owner = self._owners.of(turn.user_id, turn.thread_id, stores=True)
        turn = await beside_loop(turn_chars(turn), partial(redacted_turn, turn, self._redactor))
        values = {
            **(given or {}),
            **turn.model_dump(exclude={"user_id", "media", "provenance", "input_text", "output_text", "intent"}),
            **self._texts(turn, owner["user_key"], owner["thread_key"]),
            **owner,
            "epoch": epoch,
        }
        statement = f"{_WRITE}{beside}"
        if isinstance(self._audit, PostgresAuditLog):
            statement += _AUDITED
            values |= self._audit.given("log.write", user_key=owner["user_key"], data="log", counts={"turns": 1})
        with storage_errors():
            row = await write_for_user(self._pool, f"{statement} {_WRITTEN}", values)
        return bool(row["is_new"])

    async def end_session(self, user_id: str | None, thread_id: str) -> bool:
        """Note that the user has ended a session, until they say more in it; False if nothing was ever said there.

        Raises:
            InvalidUserError: `user_id` can't be used.
            StorageError: Nothing was noted.
        """
        with storage_errors():
            row = await change_for_user(self._pool, _END, self._owners.of(user_id, thread_id))
        return bool(row.get("is_known"))

    async def read(
        self,
        user_id: str | None,
        *,
        thread_id: str | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        limit: int = 100,
    ) -> list[TurnRecord]:
        """Return at most `limit` turns of a user, oldest first: those begun at or after `after`, and before `before`.

        Turns whose key is not known are left out, and the log names them. Without a user_id a thread is needed.

        Raises:
            InvalidUserError: `user_id` can't be used, or there is neither user nor thread.
            StorageError: The database failed.
        """
        if user_id is None and thread_id is None:
            raise InvalidUserError
        owner = self._owners.of(user_id, thread_id or "")
        asked = {
            "user_key": owner["user_key"],
            "thread_key": None if thread_id is None else owner["thread_key"],
            "after": after,
            "before": before,
            "limit": max(0, limit),
        }
        with storage_errors():
            async with self._pool.connection() as conn, conn.cursor(binary=True) as cursor:
                rows = await (await cursor.execute(READ_TURNS, asked)).fetchall()
        read: dict[str, Any] = {"user_key": owner["user_key"], "data": "log", "counts": {"turns": len(rows)}}
        await self._audit.record_reading("log.read", **read)
        return turns_from(rows, self._sealer, user_id=user_id)

    def _texts(self, turn: TurnRecord, user_key: UUID, thread_key: UUID) -> dict[str, Any]:
        """Return the columns that hold what was said, and in few words what about."""
        intent, sealed = None, None
        if turn.intent is not None:
            intent, sealed = self._sealer.split(turn.intent, SESSION_INTENT, user_key, thread_key)
        session = {"intent": intent, "sealed_intent": sealed, "intent_told": turn.intent is not None}
        return {**turn_columns(turn, user_key, thread_key, self._sealer), **session}
