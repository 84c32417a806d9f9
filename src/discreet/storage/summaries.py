"""Rolling summaries in the database, one row a thread, swapped only for what they were made from."""

from __future__ import annotations

import asyncio
from typing import Any, LiteralString

from psycopg import AsyncCursor

from discreet.driver_errors import storage_errors
from discreet.errors import EncryptionError, StorageError
from discreet.ports import RollingSummary, TextRedactor, of_thread
from discreet.state.context import check_user_id
from discreet.state.text import storable
from discreet.storage.keys import digest, person_for
from discreet.storage.pool import Pool
from discreet.storage.sealing import FieldSealer

_GET: LiteralString = """
SELECT text, sealed_text, rounds, last_message_id FROM discreet.rolling_summary WHERE summary_key = %(summary_key)s
"""

_FIRST: LiteralString = """
INSERT INTO discreet.rolling_summary AS s (
    summary_key, user_key, thread_id, text, sealed_text, rounds, last_message_id, updated_at
)
VALUES (
    %(summary_key)s, %(user_key)s, %(thread_id)s, %(text)s, %(sealed_text)s, %(rounds)s, %(last_message_id)s, now()
)
ON CONFLICT (summary_key) DO UPDATE SET
    text = excluded.text,
    sealed_text = excluded.sealed_text,
    rounds = excluded.rounds,
    last_message_id = excluded.last_message_id,
    updated_at = excluded.updated_at
WHERE s.rounds = 0 AND s.last_message_id IS NULL
RETURNING s.rounds
"""

_NEXT: LiteralString = """
UPDATE discreet.rolling_summary
SET text = %(text)s,
    sealed_text = %(sealed_text)s,
    rounds = %(rounds)s,
    last_message_id = %(last_message_id)s,
    updated_at = now()
WHERE summary_key = %(summary_key)s
  AND rounds = %(expected_rounds)s
  AND last_message_id IS NOT DISTINCT FROM %(expected_message_id)s
RETURNING rounds
"""
"""The row is locked and looked at anew, so of two that expect the same one swaps (READ COMMITTED)."""

_FORGET: LiteralString = "DELETE FROM discreet.rolling_summary WHERE summary_key = %(summary_key)s"


class PostgresRollingSummaries:
    """The `RollingSummaries` port over PostgreSQL."""

    def __init__(self, pool: Pool, *, redactor: TextRedactor, sealer: FieldSealer) -> None:
        """Use `pool`, whose owner closes it."""
        self._pool = pool
        self._redactor = redactor
        self._sealer = sealer

    async def get(self, user_id: str | None, thread_id: str) -> RollingSummary:
        """Return the summary of a thread; an empty one if there is none.

        Raises:
            InvalidUserError: `user_id` can't be used.
            StorageError: It could not be read, or is sealed under a key that is not known.
        """
        key = _key(user_id, thread_id)
        with storage_errors():
            async with self._pool.connection() as conn, conn.cursor(binary=True) as cursor:
                row = await (await cursor.execute(_GET, key)).fetchone()
        if row is None:
            return RollingSummary()
        try:
            text = self._sealer.join(row["text"], row["sealed_text"], *_place(user_id, thread_id))
        except EncryptionError as error:
            raise StorageError(f"The rolling summary can't be read. {error}") from error
        return RollingSummary(text=text, rounds=row["rounds"], last_message_id=row["last_message_id"])

    async def commit(
        self, user_id: str | None, thread_id: str, *, expected: RollingSummary, new: RollingSummary
    ) -> bool:
        """Put `new`, redacted, in the place of `expected`; False if another cursor or last message stands there.

        Raises:
            InvalidUserError: `user_id` can't be used.
            StorageError: Nothing was stored.
        """
        text = storable(await asyncio.to_thread(of_thread(self._redactor, thread_id).redact, new.text))
        plain, sealed = self._sealer.split(text, *_place(user_id, thread_id))
        given = {
            **_key(user_id, thread_id),
            "text": plain,
            "sealed_text": sealed,
            "rounds": new.rounds,
            "last_message_id": _message_id(new),
            "expected_rounds": expected.rounds,
            "expected_message_id": _message_id(expected),
        }
        with storage_errors():
            async with self._pool.connection() as conn, conn.cursor(binary=True) as cursor:
                if expected.rounds or expected.last_message_id is not None:
                    await cursor.execute(_NEXT, given)
                else:
                    await self._first(cursor, user_id, thread_id, given)
                return await cursor.fetchone() is not None

    async def forget(self, user_id: str | None, thread_id: str) -> bool:
        """Delete the summary of a thread; False if there is none.

        Raises:
            StorageError: It is still there.
        """
        with storage_errors():
            async with self._pool.connection() as conn:
                return (await conn.execute(_FORGET, _key(user_id, thread_id))).rowcount > 0

    async def _first(
        self, cursor: AsyncCursor[dict[str, Any]], user_id: str | None, thread_id: str, given: dict[str, Any]
    ) -> None:
        """Store a thread's first summary, unless another one stands there."""
        user_key = None if user_id is None else (await person_for(cursor, user_id)).user_key
        await cursor.execute(_FIRST, {**given, "user_key": user_key, "thread_id": storable(thread_id)})


def _key(user_id: str | None, thread_id: str) -> dict[str, Any]:
    """Return the key of a thread's row. No user has an empty user_id."""
    return {"summary_key": digest("" if user_id is None else check_user_id(user_id), thread_id)}


def _place(user_id: str | None, thread_id: str) -> tuple[str, str, str]:
    return "rolling_summary", user_id or "", thread_id


def _message_id(summary: RollingSummary) -> str | None:
    return None if summary.last_message_id is None else storable(summary.last_message_id)
