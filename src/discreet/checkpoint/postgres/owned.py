"""Read what a user has in the durable tier: their threads, the messages of all their branches, and where each stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple
from uuid import UUID

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool
from pydantic_core import to_jsonable_python

from discreet.checkpoint.channels import is_engine_channel
from discreet.checkpoint.postgres.async_tier import AsyncPostgresTier
from discreet.checkpoint.postgres.cursors import table_cursor
from discreet.checkpoint.postgres.message_rows import MESSAGE_ROWS
from discreet.checkpoint.postgres.names import qualify
from discreet.checkpoint.postgres.statements import Statement
from discreet.checkpoint.postgres.threads import NOBODY
from discreet.shown_keys import shown_key

_THREADS: Final = """
SELECT thread_id FROM checkpoint_threads
WHERE user_key = %(user_key)s AND thread_id > %(after)s
ORDER BY thread_id
LIMIT %(limit)s
"""
_OWN_THREADS: Final = "SELECT thread_id FROM checkpoint_threads_of_mine(%(after)s, %(limit)s) AS t (thread_id)"
"""The same where the database keeps users apart: it knows who asks, and shows no key."""

_OWNER: Final = "SELECT owner FROM checkpoint_threads WHERE thread_id = %(thread_id)s"

_MESSAGES: Final = """
SELECT thread_id, checkpoint_ns, channel, position, kind AS type, message_id, content, tool::jsonb AS tool, created_at
FROM checkpoint_messages
WHERE thread_id = %(thread_id)s {after}
ORDER BY checkpoint_ns, channel, position
LIMIT %(limit)s
"""
_AFTER_PLACE: Final = "AND (checkpoint_ns, channel, position) > (%(ns)s, %(channel)s, %(position)s)"

_HEADS: Final = f"""
SELECT checkpoint_ns, checkpoint_id, checkpoint ->> 'ts' AS created_at, checkpoint -> 'channel_values' AS inline,
    checkpoint -> '{MESSAGE_ROWS}' AS runs,
    (
        SELECT array_agg(ARRAY[b.channel::bytea, b.type::bytea, b.blob])
        FROM jsonb_each_text(checkpoint -> 'channel_versions') v
        JOIN checkpoint_blobs b ON b.channel = v.key AND b.version = v.value
        WHERE b.thread_id = %(thread_id)s AND b.checkpoint_ns = checkpoints.checkpoint_ns
    ) AS blobs
FROM checkpoints
WHERE thread_id = %(thread_id)s AND (checkpoint_ns, checkpoint_id) IN (
    SELECT c.checkpoint_ns, max(c.checkpoint_id) FROM checkpoints c WHERE c.thread_id = %(thread_id)s GROUP BY c.checkpoint_ns
)
ORDER BY checkpoint_ns
"""
"""The thread in every relation, so that a cluster asks one node."""


class Head(NamedTuple):
    """The newest checkpoint of a namespace of a thread."""

    checkpoint_ns: str
    checkpoint_id: str
    created_at: str
    values: Mapping[str, Any]
    """By channel, as JSON, but for messages that are rows of their own."""
    runs: Sequence[tuple[str, int, int]]
    """Which of these it has: by channel, from a position to one."""
    unreadable: Sequence[str]
    """Channels whose values another saver stored in a way that is not known here."""


class OwnedThreads:
    """The threads of users. Every method reads one page, of one thread at most, on a connection of its own."""

    def __init__(self, pool: AsyncConnectionPool[Any], *, schema: str | None = None) -> None:
        """Use `pool`, whose owner closes it; `schema` as for `RedactingSaver.from_pool`. Needs a running event loop."""
        # No class is imported that a value only names.
        saver = AsyncPostgresSaver(pool, serde=JsonPlusSerializer(allowed_msgpack_modules=None))
        self._tier = _Tier(saver, schema=schema)
        self._are_there = False

    async def are_there(self) -> bool:
        """Tell whether the database has a checkpointer's tables.

        Raises:
            ConfigurationError: `schema` names one without them, or several sets are in sight and nothing says which is meant.
        """
        return await self._tier.are_there()

    async def owner(self, thread_id: str) -> UUID | None:
        """Return what stands for the key of whoever a thread belongs to, see `shown_key`; None if nothing of it is kept, or it is nobody's.

        One statement by the primary key; two more until the tables have been seen.

        Raises:
            StorageUnavailableError: The database can't be asked.
            ConfigurationError: As `are_there`.
        """
        self._are_there = self._are_there or await self.are_there()
        rows = await self._tier.rows(_OWNER, {"thread_id": thread_id}) if self._are_there else []
        owners: list[UUID] = [row["owner"] for row in rows if row["owner"] != shown_key(NOBODY)]
        return owners[0] if owners else None

    async def threads(self, user_key: UUID, *, after: str | None = None, limit: int) -> list[str]:
        """Return at most `limit` threads of a user that come after one, in the database's order."""
        rows = await self._tier.threads({"user_key": user_key, "after": after or "", "limit": limit})
        return [row["thread_id"] for row in rows]

    async def messages(
        self, user_key: UUID, thread_id: str, *, after: tuple[str, str, int] | None = None, limit: int
    ) -> list[DictRow]:
        """Return at most `limit` messages of a thread after one, which its namespace, channel and position name."""
        ns, channel, position = after or (None, None, None)
        given = {"user_key": user_key, "thread_id": thread_id, "limit": limit}
        given |= {"ns": ns, "channel": channel, "position": position}
        return await self._tier.rows(_MESSAGES.format(after="" if after is None else _AFTER_PLACE), given)

    async def heads(self, user_key: UUID, thread_id: str) -> list[Head]:
        """Return where a thread stands, in each of its namespaces."""
        rows = await self._tier.rows(_HEADS, {"user_key": user_key, "thread_id": thread_id})
        return [self._head(row) for row in rows]

    def _head(self, row: DictRow) -> Head:
        values, unreadable = dict(row["inline"] or {}), []
        for channel, kind, blob in row["blobs"] or ():
            name = channel.decode()
            if kind == b"empty":
                continue
            try:
                values[name] = self._tier.serde.loads_typed((kind.decode(), blob))
            except Exception:  # noqa: BLE001  # another saver's value, which may be anything: it costs no other
                unreadable.append(name)
        kept = {name: value for name, value in values.items() if value is not None and not is_engine_channel(name)}
        plain = to_jsonable_python(
            kept, inf_nan_mode="null", bytes_mode="base64", fallback=lambda value: type(value).__name__
        )
        return Head(row["checkpoint_ns"], row["checkpoint_id"], row["created_at"], plain, row["runs"] or (), unreadable)


class _Tier(AsyncPostgresTier):
    """The durable tier, of which it takes where the tables are, patience and typed errors."""

    async def rows(self, sql: str, params: Mapping[str, Any]) -> list[DictRow]:
        return await self._run(partial(self._execute, Statement(sql, params, returns=True)))

    async def threads(self, params: Mapping[str, Any]) -> list[DictRow]:
        """Return a user's threads, by the connection's own cursor: that of a storage tells the database whose they are."""
        return await self._run(partial(self._threads, params))

    async def _threads(self, params: Mapping[str, Any]) -> list[DictRow]:
        async with self._connection() as conn:
            async with await table_cursor(conn, self._tables) as found:
                sql = qualify(_OWN_THREADS if found.is_apart else _THREADS, found.schema)
            async with conn.cursor(row_factory=dict_row) as cursor:
                return await (await cursor.execute(sql.encode(), params)).fetchall()
