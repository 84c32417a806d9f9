"""The spill in PostgreSQL: a sealed row a paused thread, in a table that never reaches the write-ahead log.

Turns that are over have rows there too, if `history_ttl` says so.

An UNLOGGED table is emptied when the server crashes, and a standby has none of it: its turns are then lost, as they would
be without a spill. The server sees thread ids, checkpoint ids and ciphertext; keys stay in the process.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection, Connection
from psycopg.errors import UndefinedTable
from psycopg.rows import dict_row, tuple_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from discreet import metrics
from discreet.checkpoint.postgres.cursors import AsyncTableCursor, TableCursor, sync_table_cursor, table_cursor
from discreet.checkpoint.postgres.names import Tables
from discreet.checkpoint.postgres.schema import OWN_TABLES, THREADS, Found, Step, missing_schema
from discreet.checkpoint.postgres.setting_up import look, set_up, sync_look, sync_set_up
from discreet.checkpoint.postgres.statements import Statement
from discreet.checkpoint.postgres.threads import NOBODY, OVER
from discreet.checkpoint.spill import Spilled, Version
from discreet.driver_errors import storage_errors
from discreet.encryption import Column, seal, unseal
from discreet.errors import EncryptionError, StorageError
from discreet.leases import lease, sync_lease
from discreet.ports import KeyProvider
from discreet.settings import load_settings

logger = logging.getLogger(__name__)

CREATE_TABLE = """
CREATE UNLOGGED TABLE IF NOT EXISTS checkpoint_spill (
    thread_id TEXT NOT NULL,
    ended TEXT NOT NULL DEFAULT '',
    head TEXT NOT NULL,
    generation UUID NOT NULL,
    expires_at timestamptz NOT NULL,
    sealed BYTEA NOT NULL,
    saved_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (thread_id, ended)
)
"""
SPILLED = Column("checkpoint_spill", "sealed")
INDEX = "checkpoint_spill_expires_at"
CREATE_INDEX = f"CREATE INDEX IF NOT EXISTS {INDEX} ON checkpoint_spill (expires_at)"
UNSAMPLED = "ALTER TABLE checkpoint_spill " + ", ".join(
    f"ALTER COLUMN {column} SET STATISTICS 0" for column in ("thread_id", "ended", "head", "generation", "sealed")
)
"""ANALYZE keeps no values of them: it copies them into the catalog, where a deletion leaves them."""

SAVE = f"""
WITH thread AS MATERIALIZED (
    SELECT thread_id, deleted_at FROM checkpoint_threads WHERE thread_id = %(thread_id)s FOR SHARE
)
INSERT INTO checkpoint_spill AS kept (thread_id, ended, head, generation, expires_at, sealed, saved_at)
SELECT
    thread_id, %(ended)s, %(head)s, %(generation)s, now() + make_interval(secs => %(ttl_seconds)s), %(sealed)s,
    now()
FROM thread
WHERE deleted_at IS NULL OR {OVER} OR deleted_at <= coalesce(%(since)s::timestamptz, 'infinity')
ON CONFLICT (thread_id, ended) DO UPDATE
SET saved_at = EXCLUDED.saved_at, head = EXCLUDED.head, generation = EXCLUDED.generation,
    expires_at = EXCLUDED.expires_at, sealed = EXCLUDED.sealed
WHERE (kept.head COLLATE "C", kept.generation) <= (EXCLUDED.head COLLATE "C", EXCLUDED.generation)
    OR kept.expires_at <= EXCLUDED.saved_at
"""
"""Two tasks of a step may ask at once, and their saves overtake each other: the newer one stays. A deletion of the thread waits
for this, or is seen: it has the row of the thread locked before it looks for what to delete."""

KNOW = "INSERT INTO checkpoint_threads (thread_id, user_key) VALUES (%(thread_id)s, %(nobody)s) ON CONFLICT DO NOTHING"
"""For a thread of which nothing is stored yet: whoever deletes it has its row locked."""

OVERDUE = """
SELECT DISTINCT thread_id FROM (
    SELECT thread_id FROM checkpoint_spill WHERE expires_at <= now() ORDER BY expires_at LIMIT %(limit)s
) overdue
"""
SWEEP = """
DELETE FROM checkpoint_spill
WHERE thread_id = %(thread_id)s AND ended IN (
    SELECT ended FROM checkpoint_spill WHERE thread_id = %(thread_id)s AND expires_at <= now() FOR UPDATE SKIP LOCKED
)
"""
"""Statements of their own after the save, one for each thread: a cluster can't skip what is locked on several nodes."""
SWEEP_LIMIT = 100
"""Expired rows deleted with each save: more than a save adds, few enough to cost it nothing."""

LOAD = """
SELECT head, generation::text, sealed FROM checkpoint_spill
WHERE thread_id = %(thread_id)s AND ended = '' AND expires_at > now()
"""

LOAD_ENDED = """
SELECT head, generation::text, sealed FROM checkpoint_spill
WHERE thread_id = %(thread_id)s AND ended <> '' AND expires_at > now()
ORDER BY ended COLLATE "C"
"""

GENERATION = """
SELECT head, generation::text FROM checkpoint_spill
WHERE thread_id = %(thread_id)s AND ended = '' AND expires_at > now()
"""

DROP = """
DELETE FROM checkpoint_spill
WHERE thread_id = ANY(%(thread_ids)s)
    AND (%(upto)s::text IS NULL OR (ended = '' AND head COLLATE "C" <= %(upto)s::text))
"""


def missing(there: Found) -> list[Step]:
    """Return what to do until a schema has the spill."""
    wanted = {THREADS: OWN_TABLES[THREADS], "checkpoint_spill": (CREATE_TABLE, CREATE_INDEX, UNSAMPLED)}
    steps = [
        Step(table, [*map(Statement, creating)])
        for table, creating in wanted.items()
        if table not in there.tables or (table == "checkpoint_spill" and INDEX not in there.indexes)
    ]
    return [*missing_schema(there), *steps] if steps else []


@contextmanager
def _spill_errors() -> Iterator[None]:
    """Raise what `storage_errors` does, and say what to run where the table is missing."""
    with storage_errors():
        try:
            yield
        except UndefinedTable:
            raise StorageError(
                "Paused turns are to be kept in the database (keys=…, or DISCREET_SPILL), and the table for them is not there. Call the "
                "saver's setup() once more, or run `discreet migrate` (SQLSTATE 42P01)."
            ) from None


class _SealedRows:
    """What both faces share: everything but the calls."""

    def __init__(self, keys: KeyProvider, ttl_seconds: float | None, schema: str | None) -> None:
        self._tables = Tables(schema)
        self._keys = keys
        self._ttl_seconds = load_settings().pause_seconds if ttl_seconds is None else ttl_seconds

    def _seal(
        self, thread_id: str, spilled: Spilled, ttl_seconds: float | None, since: datetime | None
    ) -> dict[str, Any]:
        """Return the row of `spilled`."""
        sealed = seal(spilled.payload, _belongs_to(thread_id, spilled.version), self._keys)
        return {
            "thread_id": thread_id,
            "ended": spilled.head if spilled.ended else "",
            "head": spilled.head,
            "generation": spilled.generation,
            "ttl_seconds": self._ttl_seconds if ttl_seconds is None else ttl_seconds,
            "sealed": sealed,
            "nobody": NOBODY,
            "since": since,
        }

    def _open(self, thread_id: str, row: tuple[str, str, bytes] | None) -> Spilled | None:
        """Return what `row` holds; None if it can't be opened, which whoever has the keys can do something about."""
        if row is None:
            return None
        version, sealed = Version(*row[:2]), row[2]
        try:
            return Spilled(*version, unseal(sealed, _belongs_to(thread_id, version), self._keys))
        except EncryptionError:
            metrics.spill_unreadable.labels(cause="key").inc()
            logger.warning("spill_unreadable", extra={"thread_id": thread_id})
            return None


class PostgresSpill(_SealedRows):
    """Spill store for the async saver.

    Example:
        >>> from discreet.encryption import Keyring, make_key
        >>> spill = PostgresSpill(AsyncConnectionPool(open=False), Keyring([make_key()]), ttl_seconds=900)
    """

    def __init__(
        self,
        pool: AsyncConnectionPool[AsyncConnection[Any]],
        keys: KeyProvider,
        *,
        ttl_seconds: float | None = None,
        schema: str | None = None,
    ) -> None:
        """Work on connections of `pool`, which stays the caller's. Call `setup` once.

        `ttl_seconds`: how long a person may take to answer. Default: DISCREET_PAUSE_SECONDS.
        `schema`: where the table is. Default: beside LangGraph's tables, else where it is in sight.
        """
        super().__init__(keys, ttl_seconds, schema)
        self._pool = pool

    async def setup(self) -> None:
        """Create the table, one process at a time, if it is missing. Looks at the database every time.

        Raises:
            MigrationError: Another process held the lock for a minute, or this role may not create it.
            StorageError: The table could not be created.
        """
        with _spill_errors():
            async with self._cursor(dict_row) as cursor:
                there = await look(cursor)
            await set_up(self._pool, there.schema, there, missing)

    async def save(
        self,
        thread_id: str,
        spilled: Spilled,
        *,
        ttl_seconds: float | None = None,
        since: datetime | None = None,
    ) -> bool:
        """Keep `spilled`, sealed, instead of an older version, and delete some rows whose time is over."""
        row = self._seal(thread_id, spilled, ttl_seconds, since)
        with _spill_errors():
            async with self._cursor() as cursor:
                await cursor.execute(KNOW, row)
                saved = (await cursor.execute(SAVE, row)).rowcount == 1
                if cursor.is_apart:
                    return saved  # what is over is the worker's to delete
                await cursor.execute(OVERDUE, {"limit": SWEEP_LIMIT})
                for (overdue,) in await cursor.fetchall():
                    await cursor.execute(SWEEP, {"thread_id": overdue})
        return saved

    async def load(self, thread_id: str) -> Spilled | None:
        """Return the paused turn, unless its time is over or the row can't be opened."""
        with _spill_errors():
            async with self._cursor() as cursor:
                row = await (await cursor.execute(LOAD, {"thread_id": thread_id})).fetchone()
        return self._open(thread_id, row)

    async def ended(self, thread_id: str) -> list[Spilled]:
        """Return the turns that are over and still kept, oldest first, those that can be opened."""
        with _spill_errors():
            async with self._cursor() as cursor:
                rows = await (await cursor.execute(LOAD_ENDED, {"thread_id": thread_id})).fetchall()
        return [spilled for row in rows if (spilled := self._open(thread_id, row))]

    async def generation(self, thread_id: str) -> Version | None:
        """Return the version of the paused turn. Whether the row can be opened is not looked at."""
        with _spill_errors():
            async with self._cursor() as cursor:
                row = await (await cursor.execute(GENERATION, {"thread_id": thread_id})).fetchone()
        return Version(*row) if row else None

    async def drop(self, thread_ids: Sequence[str], *, upto: str | None = None) -> None:
        """Delete the rows of these threads, or those whose head is not newer than `upto`."""
        with _spill_errors():
            async with self._cursor() as cursor:
                for thread_id in thread_ids:
                    await cursor.execute(DROP, {"thread_ids": [thread_id], "upto": upto})

    @asynccontextmanager
    async def _cursor(self, row_factory: Any = tuple_row) -> AsyncIterator[AsyncTableCursor]:
        async with lease(self._pool) as conn, await table_cursor(conn, self._tables, row_factory=row_factory) as cursor:
            yield cursor


class SyncPostgresSpill(_SealedRows):
    """Spill store for the sync saver, over the same rows."""

    def __init__(
        self,
        pool: ConnectionPool[Connection[Any]],
        keys: KeyProvider,
        *,
        ttl_seconds: float | None = None,
        schema: str | None = None,
    ) -> None:
        """Work on connections of `pool`, which stays the caller's; see `PostgresSpill`."""
        super().__init__(keys, ttl_seconds, schema)
        self._pool = pool

    def setup(self) -> None:
        """Create the table; see `PostgresSpill.setup`."""
        with _spill_errors():
            with self._cursor(dict_row) as cursor:
                there = sync_look(cursor)
            sync_set_up(self._pool, there.schema, there, missing)

    def save(
        self,
        thread_id: str,
        spilled: Spilled,
        *,
        ttl_seconds: float | None = None,
        since: datetime | None = None,
    ) -> bool:
        """Keep `spilled`, sealed, instead of an older version, and delete some rows whose time is over."""
        row = self._seal(thread_id, spilled, ttl_seconds, since)
        with _spill_errors(), self._cursor() as cursor:
            cursor.execute(KNOW, row)
            saved = cursor.execute(SAVE, row).rowcount == 1
            if cursor.is_apart:
                return saved
            cursor.execute(OVERDUE, {"limit": SWEEP_LIMIT})
            for (overdue,) in cursor.fetchall():
                cursor.execute(SWEEP, {"thread_id": overdue})
        return saved

    def load(self, thread_id: str) -> Spilled | None:
        """Return the paused turn, unless its time is over or the row can't be opened."""
        with _spill_errors(), self._cursor() as cursor:
            row = cursor.execute(LOAD, {"thread_id": thread_id}).fetchone()
        return self._open(thread_id, row)

    def ended(self, thread_id: str) -> list[Spilled]:
        """Return the turns that are over and still kept, oldest first, those that can be opened."""
        with _spill_errors(), self._cursor() as cursor:
            rows = cursor.execute(LOAD_ENDED, {"thread_id": thread_id}).fetchall()
        return [spilled for row in rows if (spilled := self._open(thread_id, row))]

    def generation(self, thread_id: str) -> Version | None:
        """Return the version of the paused turn. Whether the row can be opened is not looked at."""
        with _spill_errors(), self._cursor() as cursor:
            row = cursor.execute(GENERATION, {"thread_id": thread_id}).fetchone()
        return Version(*row) if row else None

    def drop(self, thread_ids: Sequence[str], *, upto: str | None = None) -> None:
        """Delete the rows of these threads, or those whose head is not newer than `upto`."""
        with _spill_errors(), self._cursor() as cursor:
            for thread_id in thread_ids:
                cursor.execute(DROP, {"thread_ids": [thread_id], "upto": upto})

    @contextmanager
    def _cursor(self, row_factory: Any = tuple_row) -> Iterator[TableCursor]:
        with sync_lease(self._pool) as conn, sync_table_cursor(conn, self._tables, row_factory=row_factory) as cursor:
            yield cursor


def _belongs_to(thread_id: str, version: Version) -> bytes:
    """Return what a row is sealed for: a row copied to another thread, or one with another head, can't be opened."""
    return SPILLED.of(thread_id, *version)
