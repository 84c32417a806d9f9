"""Which tables hold a user's rows, and what of them goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from discreet.storage.database.users.users import Cursor

BATCH: Final = 1_000
"""Rows deleted by one statement."""

_SHOWN_KEY: Final[LiteralString] = "substr(encode(sha256(uuid_send(%(user_key)s::uuid)), 'hex'), 1, 32)::uuid"
"""`shown_key` of the user."""


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Rows of one table that are a user's."""

    table: LiteralString
    """In our schema."""
    key: Sequence[LiteralString]
    """Tells rows of one user apart."""
    which: LiteralString = "true"
    """Those that go."""
    owner: LiteralString = "user_key"
    """The column that says whose they are."""
    value: LiteralString = "%(user_key)s"
    """What stands in it."""

    @property
    def is_own(self) -> bool:
        """Whether the user may see them: others are somebody else's, and tell of the user."""
        return self.owner == "user_key"

    @property
    def _where(self) -> LiteralString:
        return f"FROM discreet.{self.table} WHERE {self.owner} = {self.value} AND ({self.which})"

    async def count(self, cursor: Cursor, given: Mapping[str, Any]) -> int:
        """Return how many would go."""
        row = await (await cursor.execute(f"SELECT count(*) AS rows {self._where}", given)).fetchone()
        return 0 if row is None else int(row["rows"])

    async def delete(self, cursor: Cursor, given: Mapping[str, Any], *, batch: int = BATCH) -> int:
        """Delete at most `batch` of them; return how many went."""
        if not self.is_own:  # of many users, on all nodes
            return (await cursor.execute(f"DELETE {self._where}", given)).rowcount
        columns = ", ".join(self.key)
        statement: LiteralString = (
            f"DELETE FROM discreet.{self.table} WHERE {self.owner} = %(user_key)s AND ({columns}) IN "
            f"(SELECT {columns} {self._where} LIMIT %(batch)s)"
        )
        return (await cursor.execute(statement, {**given, "batch": batch})).rowcount


OWNED: Final = (
    Rows(table="memory_proposal", key=("proposal_key",)),
    Rows(table="batch_requests", key=("request_key",)),
    Rows(table="session_summary", key=("thread_key",)),
    Rows(table="rolling_summary", key=("thread_key",)),
    Rows(table="short_term_round", key=("thread_key", "began_at", "request_key")),
    Rows(table="short_term_session", key=("thread_key",)),
    Rows(table="short_term_work", key=("work_key",)),
    Rows(table="conversation_log", key=("request_id",)),
    Rows(table="session_record", key=("thread_key",)),
    Rows(table="forgotten_round", key=("thread_key", "request_id")),
    Rows(table="memory_conflict", key=("older", "newer")),
    Rows(table="memory_stats", key=("entry_id",)),
    Rows(table="memory", key=("entry_id",)),
    Rows(table="user_token", key=("change_key",)),
    Rows(table="user_memories", key=("user_key",)),
    Rows(table="delegation", key=("delegate_key",)),
    Rows(table="delegation", key=("user_key",), owner="delegate_key", value=_SHOWN_KEY),
)
"""All rows of a user. The tests look whether a table has come that is not here. What of them stays is named in docs/erasure.md."""

OF_NAMESPACE: Final = (
    Rows(table="store_item", key=("item_key",)),
    *(rows for rows in OWNED if rows.table in {"memory", "memory_stats", "user_token", "user_memories"}),
)
"""All rows of a namespace of the store."""

_OF_TURNS: LiteralString = "request_id = ANY (%(request_ids)s)"
_OF_THREAD: LiteralString = "thread_key = ANY (%(whole)s)"
_TOUCHED: LiteralString = "thread_key = ANY (%(touched)s)"

ENTRIES: Final = Rows(
    table="memory",
    key=("entry_id",),
    which=f"type <> 'item' AND ({_OF_TURNS} OR {_OF_THREAD} OR created_at >= %(since)s::timestamptz)",
)
"""Memories of the turns, and of their time."""

PARTS: Final = (
    Rows(table="memory_proposal", key=("proposal_key",), which=f"request_ids && %(request_ids)s::text[] OR {_TOUCHED}"),
    Rows(table="batch_requests", key=("request_key",), which=f"request_ids && %(request_ids)s::text[] OR {_OF_THREAD}"),
    Rows(table="session_summary", key=("thread_key",), which=_TOUCHED),
    Rows(table="rolling_summary", key=("thread_key",), which=_TOUCHED),
    Rows(table="short_term_round", key=("thread_key", "began_at", "request_key"), which=_TOUCHED),
    Rows(table="short_term_session", key=("thread_key",), which=_TOUCHED),
    Rows(table="short_term_work", key=("work_key",)),
    Rows(table="conversation_log", key=("request_id",), which=f"{_OF_TURNS} OR {_OF_THREAD}"),
    Rows(table="forgotten_round", key=("thread_key", "request_id"), which=_OF_THREAD),
    Rows(table="session_record", key=("thread_key",), which=_OF_THREAD),
)
"""What goes with turns, besides memories: what was made of them, and what may tell them.

`request_ids`: of the turns. `touched`: their threads. `whole`: threads of which nothing stays."""
