"""Rolling summaries in the database, one row a thread, swapped only for what they were made from."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, LiteralString
from uuid import UUID

from discreet.driver_errors import storage_errors
from discreet.errors import EncryptionError
from discreet.ports import RollingSummary, TextRedactor, of_thread
from discreet.state.text import storable
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.sealed_columns import ROLLING_SUMMARY
from discreet.storage.database.sealing import FieldSealer, report_unreadable
from discreet.storage.database.users.owners import OneOwner, Owners
from discreet.storage.database.users.users import OWNER, change_for_user, write_for_user

_OF_THREAD: LiteralString = "user_key = %(user_key)s AND thread_key = %(thread_key)s"

GET: LiteralString = f"""
SELECT text, sealed_text, rounds, last_message_id FROM discreet.rolling_summary WHERE {_OF_THREAD}
"""

_FIRST: LiteralString = f"""
WITH {OWNER},
written AS (
    INSERT INTO discreet.rolling_summary AS s (
        user_key, thread_key, thread_id, text, sealed_text, rounds, last_message_id, updated_at
    )
    SELECT
        user_key, %(thread_key)s, %(thread_id)s, %(text)s, %(sealed_text)s, %(rounds)s, %(last_message_id)s, now()
    FROM owner
    ON CONFLICT (user_key, thread_key) DO UPDATE SET
        text = excluded.text,
        sealed_text = excluded.sealed_text,
        rounds = excluded.rounds,
        last_message_id = excluded.last_message_id,
        updated_at = excluded.updated_at
    WHERE s.rounds = 0 AND s.last_message_id IS NULL
    RETURNING s.rounds
)
SELECT EXISTS (SELECT FROM owner) AS is_owner, EXISTS (SELECT FROM written) AS is_written
"""

_NEXT: LiteralString = f"""
WITH {OWNER},
written AS (
    UPDATE discreet.rolling_summary s
    SET text = %(text)s,
        sealed_text = %(sealed_text)s,
        rounds = %(rounds)s,
        last_message_id = %(last_message_id)s,
        updated_at = now()
    FROM owner
    WHERE s.user_key = %(user_key)s AND s.user_key = owner.user_key AND s.thread_key = %(thread_key)s
      AND s.rounds = %(expected_rounds)s
      AND s.last_message_id IS NOT DISTINCT FROM %(expected_message_id)s
    RETURNING s.rounds
)
SELECT EXISTS (SELECT FROM owner) AS is_owner, EXISTS (SELECT FROM written) AS is_written
"""
"""The row is locked and looked at anew, so of two that expect the same one swaps (READ COMMITTED)."""

_FORGET: LiteralString = f"""
WITH {OWNER},
gone AS (
    DELETE FROM discreet.rolling_summary s
    USING owner
    WHERE s.user_key = %(user_key)s AND s.user_key = owner.user_key AND s.thread_key = %(thread_key)s
    RETURNING s.rounds
)
SELECT EXISTS (SELECT FROM owner) AS is_owner, EXISTS (SELECT FROM gone) AS is_gone
"""


class PostgresRollingSummaries:
    """The `RollingSummaries` port over PostgreSQL."""

    def __init__(self, pool: Pool, *, redactor: TextRedactor, sealer: FieldSealer, owners: Owners | OneOwner) -> None:
        """Use `pool`, whose owner closes it."""
        self.pool = pool
        self._owners = owners
        self._redactor = redactor
        self._sealer = sealer

    async def get(self, user_id: str | None, thread_id: str) -> RollingSummary:
        """Return the summary of a thread; an empty one if there is none.

        One that is sealed under a key that is not known says so, and has no text.

        Raises:
            InvalidUserError: `user_id` can't be used.
            StorageError: It could not be read.
        """
        key = self._owners.of(user_id, thread_id)
        with storage_errors():
            async with self.pool.connection() as conn, conn.cursor(binary=True) as cursor:
                row = await (await cursor.execute(GET, key)).fetchone()
        return self.read(key["user_key"], key["thread_key"], row)

    def read(self, user_key: UUID, thread_key: UUID | None, row: Mapping[str, Any] | None) -> RollingSummary:
        """Return the summary in a row of `GET`; an empty one if there is none."""
        if row is None:
            return RollingSummary()
        row = {**row, "user_key": user_key, "thread_key": thread_key}
        found = RollingSummary(rounds=row["rounds"], last_message_id=row["last_message_id"])
        try:
            return replace(found, text=_opened(row, self._sealer))
        except EncryptionError:
            report_unreadable("summary", [row["thread_key"]])
            return replace(found, is_readable=False)

    async def commit(
        self,
        user_id: str | None,
        thread_id: str,
        *,
        expected: RollingSummary,
        new: RollingSummary,
        epoch: int | None = None,
    ) -> bool:
        """Put `new`, redacted, in the place of `expected`; False if another cursor or last message stands there.

        Raises:
            InvalidUserError: `user_id` can't be used.
            SensitiveIdError: An id holds a sensitive value, and the settings refuse such ids; nothing was stored.
            UserErasedError: The user was erased since `epoch`; nothing was stored.
            StorageError: Nothing was stored.
        """
        key = self._owners.of(user_id, thread_id, stores=True)
        text = storable(await asyncio.to_thread(of_thread(self._redactor, thread_id).redact, new.text))
        cursor = {"rounds": new.rounds, "last_message_id": _message_id(new)}
        plain, sealed = self._sealer.split(text, ROLLING_SUMMARY, *_place({**key, **cursor}))
        given = {
            **key,
            **cursor,
            "epoch": epoch,
            "text": plain,
            "sealed_text": sealed,
            "expected_rounds": expected.rounds,
            "expected_message_id": _message_id(expected),
        }
        with storage_errors():
            is_first = not expected.rounds and expected.last_message_id is None
            row = await write_for_user(self.pool, _FIRST if is_first else _NEXT, given)
        return bool(row["is_written"])

    async def forget(self, user_id: str | None, thread_id: str) -> bool:
        """Delete the summary of a thread; False if there is none.

        Raises:
            StorageError: It is still there.
        """
        with storage_errors():
            row = await change_for_user(self.pool, _FORGET, self._owners.of(user_id, thread_id))
        return bool(row["is_gone"])


def text_of_summary(row: Mapping[str, Any], sealer: FieldSealer) -> str:
    """Return the text of a row with user_key, thread_key, rounds, last_message_id, text and sealed_text; empty if it can't be opened."""
    try:
        return _opened(row, sealer)
    except EncryptionError:
        report_unreadable("summary", [row["thread_key"]])
        return ""


def _opened(row: Mapping[str, Any], sealer: FieldSealer) -> str:
    return sealer.join(row["text"], row["sealed_text"], ROLLING_SUMMARY, *_place(row))


def _place(row: Mapping[str, Any]) -> tuple[str | UUID | bytes, ...]:
    return ROLLING_SUMMARY.at((row["user_key"], row["thread_key"]), row)


def _message_id(summary: RollingSummary) -> str | None:
    return None if summary.last_message_id is None else storable(summary.last_message_id)
