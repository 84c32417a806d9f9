"""Sessions with turns that nothing was made of yet, and taking these turns: each is taken once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, LiteralString
from uuid import UUID, uuid4

from discreet.driver_errors import storage_errors
from discreet.state.background import PendingSession, RequestKind, StoredRequest, Trigger
from discreet.state.records import TurnRecord
from discreet.storage.conversation.turn_rows import TURN_COLUMNS, turns_from
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.database.statements import fetch
from discreet.storage.database.users.users import Cursor

MAX_TURNS = 40
"""Of one prompt. More, and models begin to leave things out; fewer, and the instruction costs more than the turns."""
MAX_CHARS = 16_000
"""Of what was said, in one prompt: some 4,000 tokens of English, 16,000 of Chinese. A longer turn is alone."""
SUMMARY_ROUNDS = 3
"""Sessions of fewer rounds get no summary: it would say what the facts say."""

Mark = tuple[datetime, UUID, UUID]
"""Where a page of pending sessions ended."""

_PENDING: LiteralString = """
SELECT
    s.user_key, s.thread_key, s.app_name, s.pending_since, s.ended_at, s.rounds, s.taken_rounds, s.closed_at, s.taken_at,
    greatest(coalesce(r.rounds, 0) - s.compacted_rounds, 0) AS compacted, greatest(s.rounds - coalesce(r.rounds, s.rounds), 0) AS behind,
    now() AS now
FROM discreet.session_record s
LEFT JOIN discreet.rolling_summary r ON r.user_key = s.user_key AND r.thread_key = s.thread_key
WHERE s.pending_since IS NOT NULL
  AND (%(since)s::timestamptz IS NULL OR (s.pending_since, s.user_key, s.thread_key) > (%(since)s, %(user)s, %(thread)s))
ORDER BY s.pending_since, s.user_key, s.thread_key
LIMIT %(limit)s
"""

_OWNER: LiteralString = """
SELECT epoch FROM discreet.users WHERE user_key = %(user_key)s AND expires_at IS NULL FOR SHARE SKIP LOCKED
"""

_SESSION: LiteralString = """
SELECT s.thread_id, s.rounds, s.app_name
FROM discreet.session_record s
WHERE s.user_key = %(user_key)s AND s.thread_key = %(thread_key)s AND (s.pending_since IS NOT NULL OR %(again)s)
FOR NO KEY UPDATE SKIP LOCKED
"""
"""Who else is at it, in another process, has the row: then there is nothing to take."""

_TURNS: LiteralString = """
SELECT l.request_id, l.app_name, coalesce(length(l.input_text), length(l.sealed_input)) AS size
FROM discreet.conversation_log l
WHERE l.user_key = %(user_key)s AND l.thread_key = %(thread_key)s
  AND (l.extraction_key IS NULL OR %(again)s)
  AND (%(after)s::timestamptz IS NULL OR l.started_at >= %(after)s)
  AND NOT EXISTS (
      SELECT FROM discreet.forgotten_round f
      WHERE f.user_key = %(user_key)s AND f.thread_key = %(thread_key)s AND f.request_id = l.request_id
  )
ORDER BY l.app_name, l.started_at, l.request_id
"""

_INSERT: LiteralString = """
INSERT INTO discreet.batch_requests (
    user_key, request_key, kind, thread_key, thread_id, app_name, trigger, epoch, request_ids, state, created_at, due_at
)
VALUES (
    %(user_key)s, %(request_key)s, %(kind)s, %(thread_key)s, %(thread_id)s, %(app_name)s, %(trigger)s, %(epoch)s,
    %(request_ids)s, 'pending', now(), now()
)
"""

_MARK: LiteralString = """
UPDATE discreet.conversation_log SET extraction_key = %(request_key)s
WHERE user_key = %(user_key)s AND request_id = ANY (%(request_ids)s)
"""

_TAKEN: LiteralString = """
UPDATE discreet.session_record s
SET taken_rounds = rounds,
    taken_at = now(),
    pending_since = NULL,
    compacted_rounds = coalesce(
        (SELECT r.rounds FROM discreet.rolling_summary r WHERE r.user_key = %(user_key)s AND r.thread_key = %(thread_key)s), 0
    )
WHERE s.user_key = %(user_key)s AND s.thread_key = %(thread_key)s
"""

_ALL_TURNS: LiteralString = f"""
SELECT s.thread_id, {TURN_COLUMNS}
FROM discreet.conversation_log l
JOIN discreet.session_record s ON s.user_key = l.user_key AND s.thread_key = l.thread_key
WHERE l.user_key = %(user_key)s AND s.user_key = %(user_key)s AND l.thread_key = %(thread_key)s
  AND s.thread_key = %(thread_key)s
  AND NOT EXISTS (
      SELECT FROM discreet.forgotten_round f
      WHERE f.user_key = %(user_key)s AND f.thread_key = %(thread_key)s AND f.request_id = l.request_id
  )
ORDER BY l.started_at, l.request_id
"""

_FORGOTTEN: LiteralString = """
SELECT request_id FROM discreet.forgotten_round WHERE user_key = %(user_key)s AND thread_key = %(thread_key)s
"""

_OF_USER: LiteralString = """
SELECT s.thread_key FROM discreet.session_record s
WHERE s.user_key = %(user_key)s AND (%(after)s::timestamptz IS NULL OR s.ended_at >= %(after)s)
ORDER BY s.started_at, s.thread_key
"""


@dataclass(frozen=True)
class _Part:
    """Turns that go into one prompt."""

    app_name: str
    request_ids: list[str]


class SessionQueue:
    """Finds what is pending, and takes it."""

    def __init__(self, pool: Pool, *, sealer: FieldSealer) -> None:
        """Use `pool`, whose owner closes it."""
        self._pool = pool
        self._sealer = sealer

    async def pending(self, *, limit: int, after: Mark | None = None) -> list[PendingSession]:
        """Return at most `limit` sessions that have turns to take, those that wait longest first.

        Raises:
            StorageError: The database failed.
        """
        since, user, thread = after or (None, None, None)
        asked = {"since": since, "user": user, "thread": thread, "limit": limit}
        rows = await fetch(self._pool, _PENDING, asked)
        return [PendingSession(**row) for row in rows]

    async def threads_of(self, user_key: UUID, *, after: datetime | None = None) -> list[UUID]:
        """Return the thread_keys of a user's sessions, oldest first: those that went on at or after `after`.

        Raises:
            StorageError: The database failed.
        """
        asked = {"user_key": user_key, "after": after}
        rows = await fetch(self._pool, _OF_USER, asked)
        return [row["thread_key"] for row in rows]

    async def turns_of(self, user_key: UUID, thread_key: UUID) -> list[TurnRecord]:
        """Return the turns of a session that the log has, oldest first, without those that the user had forgotten.

        Raises:
            StorageError: The database failed.
        """
        return turns_from(
            await fetch(self._pool, _ALL_TURNS, {"user_key": user_key, "thread_key": thread_key}), self._sealer
        )

    async def forgotten(self, user_key: UUID, thread_key: UUID) -> frozenset[str]:
        """Return the request_ids of the rounds of a session that no prompt may tell any more.

        Raises:
            StorageError: The database failed.
        """
        rows = await fetch(self._pool, _FORGOTTEN, {"user_key": user_key, "thread_key": thread_key})
        return frozenset(row["request_id"] for row in rows)

    async def take(
        self,
        user_key: UUID,
        thread_key: UUID,
        trigger: Trigger,
        *,
        kinds: Collection[RequestKind] = ("extraction", "summary"),
        after: datetime | None = None,
        again: bool = False,
        dry_run: bool = False,
    ) -> list[StoredRequest]:
        """Make prompts' requests of the turns of a session that were not taken, and return them.

        There are none if somebody else is at it, or the user is being erased. Turns that the user had forgotten are left. With `again`
        those are taken too that were before; with `after`, those alone that began then or later; with `dry_run` nothing is stored.

        Raises:
            StorageError: Nothing was taken.
        """
        given: dict[str, Any] = {
            "user_key": user_key,
            "thread_key": thread_key,
            "after": after,
            "again": again,
            "trigger": trigger,
        }
        with storage_errors():
            async with (
                self._pool.connection() as conn,
                conn.transaction(force_rollback=dry_run),
                conn.cursor(binary=True) as cursor,
            ):
                return await _take(cursor, given, kinds)


async def _take(cursor: Cursor, given: dict[str, Any], kinds: Collection[RequestKind]) -> list[StoredRequest]:
    owner = await (await cursor.execute(_OWNER, given)).fetchone()
    session = None if owner is None else await (await cursor.execute(_SESSION, given)).fetchone()
    if owner is None or session is None:
        return []
    rows = await (await cursor.execute(_TURNS, given)).fetchall()
    given = {**given, **owner, "thread_id": session["thread_id"]}
    made: list[StoredRequest] = []
    if "extraction" in kinds:
        for part in _parts(rows):
            made.append(await _insert(cursor, given, "extraction", part))
            await _mark(cursor, given, made[-1].request_key, part)
    else:
        await _mark(cursor, given, uuid4(), _whole(session, rows))
    if "summary" in kinds and rows and session["rounds"] >= SUMMARY_ROUNDS:
        made.append(await _insert(cursor, given, "summary", _whole(session, rows)))
    if given["after"] is None:
        await cursor.execute(_TAKEN, given)
    return made


async def _insert(cursor: Cursor, given: dict[str, Any], kind: RequestKind, part: _Part) -> StoredRequest:
    of = ("user_key", "thread_key", "thread_id", "trigger", "epoch")
    request = StoredRequest(
        **{name: given[name] for name in of},
        request_key=uuid4(),
        kind=kind,
        app_name=part.app_name,
        request_ids=tuple(part.request_ids),
    )
    await cursor.execute(_INSERT, {**vars(request), "request_ids": part.request_ids})
    return request


async def _mark(cursor: Cursor, given: dict[str, Any], request_key: UUID, part: _Part) -> None:
    await cursor.execute(_MARK, {**given, "request_key": request_key, "request_ids": part.request_ids})


def _whole(session: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> _Part:
    return _Part(session["app_name"], [row["request_id"] for row in rows])


def _parts(rows: Sequence[dict[str, Any]]) -> Iterator[_Part]:
    """Yield the turns of `rows` in portions of one application each, none too long for a prompt."""
    for app_name, of_app in groupby(rows, itemgetter("app_name")):
        part, size = _Part(app_name, []), 0
        for row in of_app:
            if part.request_ids and (len(part.request_ids) >= MAX_TURNS or size + row["size"] > MAX_CHARS):
                yield part
                part, size = _Part(app_name, []), 0
            part.request_ids.append(row["request_id"])
            size += row["size"]
        if part.request_ids:
            yield part
