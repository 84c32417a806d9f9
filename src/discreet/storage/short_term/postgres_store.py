"""Sessions, last rounds and claims of work in UNLOGGED tables of the database."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, Literal, LiteralString
from uuid import UUID

from psycopg.rows import DictRow

from discreet.access.epochs import Beginning
from discreet.access.user_keys import UserKeys
from discreet.ports import (
    Claim,
    Done,
    FixedSettings,
    LiveSettings,
    Round,
    Running,
    Started,
    TextRedactor,
    Work,
)
from discreet.state.ids import check_user_id
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.keys import digest
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.database.users.users import change_for_user, write_for_user
from discreet.storage.short_term.size import Size, size_of_tables
from discreet.storage.short_term.sql import (
    APPEND,
    CLAIM,
    FINISH,
    FORGET_SESSION,
    FORGET_USER,
    RECENT,
    RELEASE,
    STATE,
    TOUCH,
)
from discreet.storage.short_term.texts import ShortTermTexts, Stored, short_term_errors

GRACE_SECONDS = 3_600.0
"""For so long after its lease a holder may finish work that nobody else took over. Then its row is deleted."""


class PostgresShortTermStore:
    """The `ShortTermStore` port over PostgreSQL: one statement a method.

    A crash of the server empties it.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        redactor: TextRedactor,
        sealer: FieldSealer,
        keys: UserKeys,
        memory_settings: LiveSettings | None = None,
    ) -> None:
        """Use `pool`, whose owner closes it; `memory_settings` say how long sessions live."""
        self.pool = pool
        self._texts = ShortTermTexts(redactor, sealer)
        self._keys = keys
        self._settings = memory_settings or FixedSettings()

    async def touch(self, user_id: str, thread_id: str) -> str:
        """Make the session ACTIVE for five minutes, and let its rounds live on for a day.

        Return what work that begins now is known by, see `discreet.ports.BeginsWork`.
        """
        session = self._session(user_id, thread_id)
        touched = await self._write(TOUCH, {**session, **self.touching})
        return str(Beginning(session["user_key"], touched["epoch"]))

    async def session_state(self, user_id: str, thread_id: str) -> Literal["ACTIVE"] | None:
        """Return the state of a session; None if it is over."""
        return "ACTIVE" if await self._execute(STATE, self._session(user_id, thread_id)) else None

    async def append_round(self, user_id: str, thread_id: str, said: Round) -> bool:
        """Redact and add a round and touch the session; False if its request_id is there already."""
        given = {**self._session(user_id, thread_id), **await self.adding(user_id, thread_id, said)}
        return bool((await self._write(APPEND, given))["is_added"])

    async def recent_rounds(self, user_id: str, thread_id: str, *, limit: int = 6) -> list[Round]:
        """Return the last `limit` rounds, oldest first."""
        rows = await self._execute(RECENT, {**self._session(user_id, thread_id), "limit": max(0, limit)})
        return self._texts.join_rounds(user_id, thread_id, map(_round, rows))

    async def claim(self, work: Work, *, lease: float) -> Claim:
        """Take `work` for `lease` seconds, unless it is taken or done."""
        token = secrets.token_hex(16)
        given = {**self._work(work), "token": UUID(token), "lease": float(lease), "grace": GRACE_SECONDS}
        row = await self._write(CLAIM, given)
        if row["is_claimed"]:
            return Started(token)
        if not row["is_done"]:
            return Running()
        with short_term_errors():
            return Done(self._texts.join_answer(work, (row["answer"], row["sealed_answer"])))

    async def finish(self, work: Work, token: str, answer: str, *, keep: float | None = None) -> bool:
        """Keep the redacted `answer` for `keep` seconds, by default for the rest of the lease, and end the lease."""
        plain, sealed = self._texts.split_answer(work, await self._texts.redacted_answer(work, answer))
        given = {
            **self._work(work),
            "token": _token(token),
            "answer": plain,
            "sealed_answer": sealed,
            "keep": None if keep is None else float(keep),
        }
        return bool((await self._change(FINISH, given))["is_changed"])

    async def release(self, work: Work, token: str) -> bool:
        """Give `work` back; False if it is no longer this token's."""
        return bool((await self._change(RELEASE, {**self._work(work), "token": _token(token)}))["is_changed"])

    async def forget(self, user_id: str, thread_id: str | None = None) -> int:
        """Delete all that is kept of a user, or of one session of theirs; return how many entries had not expired.

        Answers to recordings belong to the user, not to a session.
        """
        if thread_id is None:
            row = await self._change(FORGET_USER, {"user_key": self._keys.of_user(check_user_id(user_id))})
        else:
            row = await self._change(FORGET_SESSION, self._session(user_id, thread_id))
        entries: int = row["entries"]
        return entries

    async def size(self) -> Size:
        """Return how much the tables take, of all users."""
        return await size_of_tables(self.pool)

    @property
    def touching(self) -> dict[str, Any]:
        """The parameters of `TOUCHED`: for how long a session lives from now on."""
        live = self._settings.live
        return {"session_seconds": live.session_seconds, "history_seconds": live.history_seconds, "rounds": 0}

    async def adding(self, user_id: str, thread_id: str, said: Round) -> dict[str, Any]:
        """Return the parameters of `APPENDED`, with the round redacted."""
        kept = await self._texts.redacted_round(thread_id, said)
        (question, sealed_said), (answer, sealed_heard) = self._texts.split_round(user_id, thread_id, kept)
        return {
            **self.touching,
            "rounds": 1,
            "request_key": digest(said.request_id),
            "round_id": kept.request_id,
            "said": question,
            "sealed_said": sealed_said,
            "heard": answer,
            "sealed_heard": sealed_heard,
            "said_at": kept.said_at,
            "is_emergency": kept.is_emergency,
        }

    def _session(self, user_id: str, thread_id: str) -> dict[str, Any]:
        """Return the keys of a session."""
        thread_key = digest(self._keys.ids.thread_id(thread_id, stores=False))
        return {"user_key": self._keys.of_user(user_id), "thread_key": thread_key}

    def _work(self, work: Work) -> dict[str, Any]:
        """Return the keys of a claim."""
        return {"user_key": self._keys.of_user(check_user_id(work.user_id)), "work_key": digest(work.kind, work.ref)}

    async def _execute(self, statement: LiteralString, given: Mapping[str, Any]) -> list[DictRow]:
        """Run a statement that reads, and return its rows."""
        with short_term_errors():
            async with self.pool.connection() as conn, conn.cursor(binary=True) as cursor:
                return await (await cursor.execute(statement, given)).fetchall()

    async def _write(self, statement: LiteralString, given: Mapping[str, Any]) -> DictRow:
        """Run a statement that writes for a user, and return its row."""
        with short_term_errors():
            return await write_for_user(self.pool, statement, given)

    async def _change(self, statement: LiteralString, given: Mapping[str, Any]) -> DictRow:
        """Run a statement that changes what there is of a user, and return its row."""
        with short_term_errors():
            return await change_for_user(self.pool, statement, given)


def _round(row: DictRow) -> Stored:
    of_round = Round(
        request_id=row["request_id"],
        input_text="",
        output_text="",
        said_at=row["said_at"],
        is_emergency=row["is_emergency"],
    )
    return of_round, (row["input_text"], row["sealed_input"]), (row["output_text"], row["sealed_output"])


def _token(token: str) -> UUID:
    """Return the token as it is stored; for what is no token, one that no claim has."""
    try:
        return UUID(hex=token)
    except ValueError:
        return UUID(int=0)
