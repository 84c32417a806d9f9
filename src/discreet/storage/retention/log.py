"""The conversation log, and what is there for its threads: session records and rolling summaries."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Final, LiteralString

from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.expiry import Expiry, Rows, delete_expired
from discreet.storage.database.users.users import Cursor
from discreet.storage.retention.sweeper import At, Due, Gone, due_of

LOG: Final = Expiry(
    table="conversation_log",
    key={"user_key": "uuid", "request_id": "text"},
    due="ended_at",
    may_go="""NOT EXISTS (
        SELECT FROM discreet.memory m
        WHERE m.user_key = r.user_key AND m.type = 'important_moment'
          AND (m.request_id = r.request_id OR r.request_id = ANY (m.turns))
    )""",
    also_read=", r.thread_key",
)
"""What an important moment was said in stays, whether it says so as its request_id or among its turns."""

_OF_THESE: LiteralString = """
r.user_key = ANY (%(user_keys)s) AND (r.user_key, r.thread_key) IN (
    SELECT user_key, thread_key FROM unnest(%(user_keys)s::uuid[], %(thread_keys)s::uuid[]) AS t (user_key, thread_key)
)
"""

_SESSION_IS_OVER: LiteralString = """
r.ended_at < %(until)s AND NOT EXISTS (
    SELECT FROM discreet.conversation_log l WHERE l.user_key = r.user_key AND l.thread_key = r.thread_key
)
"""

_SUMMARY_IS_OVER: LiteralString = """
r.updated_at < %(until)s AND NOT EXISTS (
    SELECT FROM discreet.session_record s
    WHERE s.user_key = r.user_key AND s.thread_key = r.thread_key AND s.ended_at >= %(until)s
)
"""

_END_SESSIONS: LiteralString = f"DELETE FROM discreet.session_record r WHERE {_OF_THESE} AND {_SESSION_IS_OVER}"
_END_SUMMARIES: LiteralString = f"DELETE FROM discreet.rolling_summary r WHERE {_OF_THESE} AND {_SUMMARY_IS_OVER}"

_COUNT_SESSIONS: LiteralString = f"""
SELECT count(*) AS rows, min(s.ended_at) AS oldest FROM discreet.session_record s
WHERE s.ended_at < %(until)s AND NOT EXISTS (
    SELECT FROM discreet.conversation_log r
    WHERE r.user_key = s.user_key AND r.thread_key = s.thread_key AND NOT (r.ended_at < %(until)s AND {LOG.may_go})
)
"""

_COUNT_SUMMARIES: LiteralString = f"""
SELECT count(*) AS rows, min(r.updated_at) AS oldest FROM discreet.rolling_summary r WHERE {_SUMMARY_IS_OVER}
"""


@dataclass(frozen=True, kw_only=True)
class LogSweeper:
    """Sweeps the log; with the last turn of a thread go its session record and its rolling summary."""

    works: Pool
    kinds: tuple[str, ...] = ("log", "sessions", "summaries")

    async def sweep(self, at: At, *, batch: int) -> AsyncGenerator[Gone, None]:
        """Delete what is due."""
        until = at.until("log")
        beside: Counter[str] = Counter()

        async def end_threads(cursor: Cursor, rows: Rows) -> None:
            threads = {(row["user_key"], row["thread_key"]) for row in rows}
            user_keys, thread_keys = map(list, zip(*sorted(threads), strict=True))
            given = {"until": until, "user_keys": user_keys, "thread_keys": thread_keys}
            beside["sessions"] = (await cursor.execute(_END_SESSIONS, given)).rowcount
            beside["summaries"] = (await cursor.execute(_END_SUMMARIES, given)).rowcount

        async for rows in delete_expired(self.works, LOG, until=until, batch=batch, also=end_threads):
            yield {"log": rows, **+beside}
            beside.clear()

    async def due(self, at: At) -> list[Due]:
        """Return how much is."""
        until = at.until("log")
        statements = zip(self.kinds, (LOG.count, _COUNT_SESSIONS, _COUNT_SUMMARIES), strict=True)
        return [await due_of(kind, self.works, (statement, until)) for kind, statement in statements]
