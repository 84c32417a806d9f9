"""Erase what the durable tier has of a user: whole threads, or some of their turns."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

from discreet.checkpoint.channels import is_trigger
from discreet.checkpoint.checkpoint_ref import CheckpointRef
from discreet.checkpoint.messages import SUMMARY
from discreet.checkpoint.postgres.async_tier import AsyncPostgresTier
from discreet.checkpoint.postgres.cursors import AsyncTableCursor, table_cursor
from discreet.checkpoint.postgres.deletions import delete_threads
from discreet.checkpoint.postgres.prunes import prune_rows
from discreet.checkpoint.postgres.statements import Statement
from discreet.checkpoint.postgres.threads import BURY, mark_of
from discreet.checkpoint.pruning import Row, moment

IsGone = Callable[[DictRow], bool]
"""Says of a user's message, with its message_id and created_at, whether its turn is to go."""

SPILL: Final = "checkpoint_spill"

TABLES: Final = ("checkpoints", "checkpoint_messages", "checkpoint_writes", "checkpoint_blobs", SPILL)
"""What a thread has rows in."""

PAGE: Final = 100
"""Threads that are looked up at a time."""

_THREADS: Final = """
SELECT thread_id FROM checkpoint_threads
WHERE user_key = %(user_key)s AND thread_id > %(after)s
ORDER BY thread_id
LIMIT %(limit)s
"""

_OWNER: Final = """
SELECT thread_id FROM checkpoint_threads WHERE thread_id = %(thread_id)s AND user_key = %(user_key)s
"""

_COUNT: Final = "SELECT count(*) AS rows FROM {table} WHERE thread_id = %(thread_id)s"

_MESSAGES: Final = """
SELECT checkpoint_ns, channel, position, kind, message_id, created_at FROM checkpoint_messages
WHERE thread_id = %(thread_id)s
ORDER BY checkpoint_ns, channel, position
"""

_NOW: Final = "SELECT clock_timestamp() AS now"

_FENCE: Final = """
UPDATE checkpoint_threads SET deleted_at = greatest(%(now)s, deleted_at) WHERE thread_id = %(thread_id)s
"""
"""As if the thread had been deleted: what is under way in it stores nothing any more. The time is read before: a cluster has none
of it in an update."""

_CHECKPOINTS: Final = """
SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id, coalesce(checkpoint ->> 'ts', '') AS made_at,
    ARRAY(
        SELECT v.key FROM jsonb_each(checkpoint -> 'channel_values') v WHERE v.value <> 'null'
        UNION
        SELECT b.channel FROM jsonb_each_text(checkpoint -> 'channel_versions') v
        JOIN checkpoint_blobs b ON b.channel = v.key AND b.version = v.value
        WHERE b.thread_id = %(thread_id)s AND b.checkpoint_ns = checkpoints.checkpoint_ns AND b.type <> 'empty'
    ) AS channels
FROM checkpoints
WHERE thread_id = %(thread_id)s
ORDER BY checkpoint_id
"""

_FORGET: Final = """
DELETE FROM checkpoint_messages
WHERE thread_id = %(thread_id)s AND (checkpoint_ns, channel, position) IN (
    SELECT ns, channel, position FROM unnest(%(spaces)s::text[], %(channels)s::text[], %(positions)s::int[])
        AS gone (ns, channel, position)
)
"""

_UNWRITE: Final = """
DELETE FROM checkpoint_writes WHERE thread_id = %(thread_id)s AND checkpoint_id = ANY (%(checkpoint_ids)s)
"""

_UNSPILL: Final = "DELETE FROM checkpoint_spill WHERE thread_id = %(thread_id)s"


class ThreadEraser(AsyncPostgresTier):
    """Works as a role that sees the threads of all users. Raises a `StorageError` for what the database refuses."""

    def __init__(self, pool: AsyncConnectionPool[Any], *, schema: str | None = None) -> None:
        """Use `pool`, whose owner closes it; `schema` as for `RedactingSaver.from_pool`. Needs a running event loop."""
        super().__init__(AsyncPostgresSaver(pool), schema=schema)
        self._there: frozenset[str] | None = None

    async def are_there(self) -> bool:
        """Tell whether the database has a checkpointer's tables."""
        self._there = await self.tables()
        return await super().are_there()

    async def threads(self, user_key: UUID) -> AsyncIterator[str]:
        """Yield a user's threads in their order, also while those that were yielded are erased."""
        given: dict[str, Any] = {"user_key": user_key, "after": "", "limit": PAGE}
        while found := await self._rows_of(_THREADS, given):
            for row in found:
                yield row["thread_id"]
            given["after"] = found[-1]["thread_id"]

    async def belongs(self, thread_id: str, user_key: UUID) -> bool:
        """Tell whether a thread is a user's."""
        return bool(await self._rows_of(_OWNER, {"thread_id": thread_id, "user_key": user_key}))

    async def messages(self, thread_id: str) -> list[DictRow]:
        """Return where the messages of a thread are, without their texts."""
        return await self._rows_of(_MESSAGES, {"thread_id": thread_id})

    async def mark(self, user_key: UUID) -> None:
        """Note that a user is erased, so that whoever begins a thread for work from before takes it back."""
        await self._run(partial(self._execute, Statement(BURY, {"thread_id": mark_of(user_key)})))

    async def count(self, thread_id: str) -> dict[str, int]:
        """Return how many rows a thread has, by table."""
        counts = {"threads": 1}
        for table in self._tables_there():
            [row] = await self._rows_of(_COUNT.format(table=table), {"thread_id": thread_id})
            counts[table] = row["rows"]
        return counts

    async def erase(self, thread_id: str) -> dict[str, int]:
        """Delete a thread with all that hangs on it; what is under way in it stores nothing any more. Return what went."""
        counts = await self.count(thread_id)
        await self._run(partial(self._drive, partial(delete_threads, [thread_id])))
        if SPILL in self._tables_there():
            await self._run(partial(self._execute, Statement(_UNSPILL, {"thread_id": thread_id})))
        return counts

    async def erase_turns(self, thread_id: str, is_gone: IsGone, since: datetime) -> dict[str, int]:
        """Take turns out of a thread, the first of which began at `since`; return what went.

        Of the checkpoints from then on only the newest stays, without them. It goes too if it has values of other channels than
        message rows: these may tell what went. A thread of which nothing is left is deleted.
        """
        counts = await self._run(partial(self._take_out, thread_id, is_gone, since))
        return await self.erase(thread_id) if counts is None else counts

    async def _take_out(self, thread_id: str, is_gone: IsGone, since: datetime) -> dict[str, int] | None:
        """Do it in one transaction; None, and nothing is done, if nothing would be left."""
        async with self._connection() as conn, conn.transaction(), await table_cursor(conn, self._tables) as cursor:
            given = {"thread_id": thread_id}
            [now] = await (await cursor.execute(_NOW)).fetchall()
            await cursor.execute(_FENCE, {**given, **now})
            messages = await (await cursor.execute(_MESSAGES, given)).fetchall()
            gone = _gone(messages, is_gone)
            gone += _summaries_of(gone, messages)
            checkpoints = await (await cursor.execute(_CHECKPOINTS, given)).fetchall()
            lost, head = _lost(checkpoints, min([since, *(row["created_at"] for row in gone)]))
            if (messages and len(gone) == len(messages)) or len(lost) == len(checkpoints):
                return None
            await self._delete(cursor, thread_id, gone, lost, head)
        return {"checkpoint_messages": len(gone), "checkpoints": len(lost)}

    async def _delete(
        self,
        cursor: AsyncTableCursor,
        thread_id: str,
        gone: Sequence[DictRow],
        lost: Sequence[DictRow],
        head: DictRow | None,
    ) -> None:
        names = {"spaces": "checkpoint_ns", "channels": "channel", "positions": "position"}
        columns = {name: [row[column] for row in gone] for name, column in names.items()}
        ids = [row["checkpoint_id"] for row in (*lost, *([head] if head else ()))]
        await cursor.execute(_FORGET, {"thread_id": thread_id, **columns})
        await cursor.execute(_UNWRITE, {"thread_id": thread_id, "checkpoint_ids": ids})
        if lost:
            statement = prune_rows(thread_id, [_row(thread_id, row) for row in lost])
            await cursor.execute(statement.sql, statement.params)
        if SPILL in self._tables_there():
            await cursor.execute(_UNSPILL, {"thread_id": thread_id})

    def _tables_there(self) -> list[str]:
        return [table for table in TABLES if table in (self._there or ())]

    async def _rows_of(self, sql: str, params: Mapping[str, Any]) -> list[DictRow]:
        return await self._run(partial(self._execute, Statement(sql, params, returns=True)))


def _gone(messages: Sequence[DictRow], is_gone: IsGone) -> list[DictRow]:
    """Return the messages of the turns that go: from a user's message to the next one, in each channel.

    A message that LangGraph has stored before it gave it an id stands right before the same one with its id.
    """
    said = [row for row in messages if row["kind"] == "human"]
    goes: dict[int, bool] = {}
    for row, following in zip(reversed(said), [None, *reversed(said)], strict=False):
        is_first = row["message_id"] is None and following is not None and _place(row) == _place(following)
        goes[id(row)] = goes[id(following)] if is_first else is_gone(row)
    gone: list[DictRow] = []
    turn: DictRow | None = None
    for row in messages:
        turn = row if row["kind"] == "human" else turn
        if turn is not None and _place(turn) == _place(row) and goes[id(turn)]:
            gone.append(row)
    return gone


def _summaries_of(gone: Sequence[DictRow], messages: Sequence[DictRow]) -> list[DictRow]:
    """Return the summaries that may tell of what is `gone`: of each place those that were made since."""
    since = min((row["created_at"] for row in gone), default=None)
    if since is None:
        return []
    return [row for row in messages if row["kind"] == SUMMARY and row["created_at"] >= since and row not in gone]


def _place(row: DictRow) -> tuple[str, str]:
    return row["checkpoint_ns"], row["channel"]


def _lost(checkpoints: Sequence[DictRow], since: datetime) -> tuple[list[DictRow], DictRow | None]:
    """Return which checkpoints go that were made `since`, and the newest of the root graph if it is of that time and stays."""
    lost = [row for row in checkpoints if (made_at := moment(row["made_at"])) is None or made_at >= since]
    head = next((row for row in reversed(checkpoints) if row["checkpoint_ns"] == ""), None)
    if head is None or head not in lost or any(not is_trigger(channel) for channel in head["channels"]):
        return lost, None
    return [row for row in lost if row is not head], head


def _row(thread_id: str, row: DictRow) -> Row:
    return Row(thread_id, CheckpointRef(row["checkpoint_ns"], row["checkpoint_id"]), row["parent_checkpoint_id"])
