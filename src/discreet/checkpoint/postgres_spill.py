"""The spill in PostgreSQL: one sealed row a paused thread, in a table that never reaches the write-ahead log.

An UNLOGGED table is emptied when the server crashes, and a standby has none of it: its turns are then lost, as they would
be without a spill. The server sees thread ids, checkpoint ids and ciphertext; keys stay in the process.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from psycopg import AsyncConnection, Connection
from psycopg.rows import tuple_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from discreet import metrics
from discreet.checkpoint.connections import own_connection, own_sync_connection
from discreet.checkpoint.spill import Spilled, Version
from discreet.driver_errors import storage_errors
from discreet.encryption import associate, seal, unseal
from discreet.errors import EncryptionError
from discreet.locks import setup_lock, sync_setup_lock
from discreet.ports import KeyProvider
from discreet.settings import load_settings

logger = logging.getLogger(__name__)

CREATE_TABLE = """
CREATE UNLOGGED TABLE IF NOT EXISTS checkpoint_spill (
    thread_id TEXT PRIMARY KEY,
    head TEXT NOT NULL,
    generation UUID NOT NULL,
    expires_at timestamptz NOT NULL,
    sealed BYTEA NOT NULL
)
"""
CREATE_INDEX = "CREATE INDEX IF NOT EXISTS checkpoint_spill_expires_at ON checkpoint_spill (expires_at)"

SAVE = """
INSERT INTO checkpoint_spill AS kept (thread_id, head, generation, expires_at, sealed)
VALUES (%(thread_id)s, %(head)s, %(generation)s, now() + make_interval(secs => %(ttl_seconds)s), %(sealed)s)
ON CONFLICT (thread_id) DO UPDATE
SET head = EXCLUDED.head, generation = EXCLUDED.generation, expires_at = EXCLUDED.expires_at, sealed = EXCLUDED.sealed
WHERE (kept.head COLLATE "C", kept.generation) <= (EXCLUDED.head COLLATE "C", EXCLUDED.generation)
    OR kept.expires_at <= now()
"""
"""Two tasks of a step may ask at once, and their saves overtake each other: the newer one stays."""

SWEEP = """
DELETE FROM checkpoint_spill
WHERE thread_id = ANY(ARRAY(
    SELECT thread_id FROM checkpoint_spill
    WHERE expires_at <= now()
    ORDER BY expires_at
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
))
"""
"""A statement of its own after the save: it waits for nobody, so two processes can't wait for each other."""
SWEEP_LIMIT = 100
"""Expired rows deleted with each save: more than a save adds, few enough to cost it nothing."""

LOAD = """
SELECT head, generation::text, sealed FROM checkpoint_spill
WHERE thread_id = %(thread_id)s AND expires_at > now()
"""

GENERATION = """
SELECT head, generation::text FROM checkpoint_spill
WHERE thread_id = %(thread_id)s AND expires_at > now()
"""

DROP = """
DELETE FROM checkpoint_spill
WHERE thread_id = ANY(%(thread_ids)s) AND (%(upto)s::text IS NULL OR head COLLATE "C" <= %(upto)s::text)
"""


class _SealedRows:
    """What both faces share: everything but the calls."""

    def __init__(self, keys: KeyProvider, ttl_seconds: float | None) -> None:
        self._keys = keys
        self._ttl_seconds = load_settings().pause_seconds if ttl_seconds is None else ttl_seconds

    def _seal(self, thread_id: str, spilled: Spilled) -> dict[str, Any]:
        """Return the row of `spilled`."""
        sealed = seal(spilled.payload, _belongs_to(thread_id, spilled.version), self._keys)
        return {
            "thread_id": thread_id,
            "head": spilled.head,
            "generation": spilled.generation,
            "ttl_seconds": self._ttl_seconds,
            "sealed": sealed,
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
        self, pool: AsyncConnectionPool[AsyncConnection[Any]], keys: KeyProvider, *, ttl_seconds: float | None = None
    ) -> None:
        """Work on connections of `pool`, which stays the caller's. Call `setup` once.

        `ttl_seconds`: how long a person may take to answer. Default: DISCREET_PAUSE_SECONDS.
        """
        super().__init__(keys, ttl_seconds)
        self._pool = pool

    async def setup(self) -> None:
        """Create the table, one process at a time. Looks at the database every time.

        Raises:
            MigrationError: Another process held the lock for a minute.
            StorageError: The table could not be created.
        """
        with storage_errors():
            async with own_connection(self._pool) as conn, setup_lock(conn):
                await conn.execute(CREATE_TABLE)
                await conn.execute(CREATE_INDEX)

    async def save(self, thread_id: str, spilled: Spilled) -> bool:
        """Keep `spilled`, sealed, instead of an older version, and delete some rows whose time is over."""
        row = self._seal(thread_id, spilled)
        with storage_errors():
            async with self._pool.connection() as conn:
                saved = await conn.execute(SAVE, row)
                await conn.execute(SWEEP, {"limit": SWEEP_LIMIT})
                return saved.rowcount == 1

    async def load(self, thread_id: str) -> Spilled | None:
        """Return the paused turn, unless its time is over or the row can't be opened."""
        with storage_errors():
            async with self._pool.connection() as conn:
                cursor = conn.cursor(row_factory=tuple_row, binary=True)
                row = await (await cursor.execute(LOAD, {"thread_id": thread_id})).fetchone()
        return self._open(thread_id, row)

    async def generation(self, thread_id: str) -> Version | None:
        """Return the version of the paused turn. Whether the row can be opened is not looked at."""
        with storage_errors():
            async with self._pool.connection() as conn:
                cursor = conn.cursor(row_factory=tuple_row)
                row = await (await cursor.execute(GENERATION, {"thread_id": thread_id})).fetchone()
        return Version(*row) if row else None

    async def drop(self, thread_ids: Sequence[str], *, upto: str | None = None) -> None:
        """Delete the rows of these threads, or those whose head is not newer than `upto`."""
        with storage_errors():
            async with self._pool.connection() as conn:
                await conn.execute(DROP, {"thread_ids": list(thread_ids), "upto": upto})


class SyncPostgresSpill(_SealedRows):
    """Spill store for the sync saver, over the same rows."""

    def __init__(
        self, pool: ConnectionPool[Connection[Any]], keys: KeyProvider, *, ttl_seconds: float | None = None
    ) -> None:
        """Work on connections of `pool`, which stays the caller's. Call `setup` once.

        `ttl_seconds`: how long a person may take to answer. Default: DISCREET_PAUSE_SECONDS.
        """
        super().__init__(keys, ttl_seconds)
        self._pool = pool

    def setup(self) -> None:
        """Create the table; see `PostgresSpill.setup`."""
        with storage_errors(), own_sync_connection(self._pool) as conn, sync_setup_lock(conn):
            conn.execute(CREATE_TABLE)
            conn.execute(CREATE_INDEX)

    def save(self, thread_id: str, spilled: Spilled) -> bool:
        """Keep `spilled`, sealed, instead of an older version, and delete some rows whose time is over."""
        row = self._seal(thread_id, spilled)
        with storage_errors(), self._pool.connection() as conn:
            saved = conn.execute(SAVE, row)
            conn.execute(SWEEP, {"limit": SWEEP_LIMIT})
            return saved.rowcount == 1

    def load(self, thread_id: str) -> Spilled | None:
        """Return the paused turn, unless its time is over or the row can't be opened."""
        with storage_errors(), self._pool.connection() as conn:
            row = conn.cursor(row_factory=tuple_row, binary=True).execute(LOAD, {"thread_id": thread_id}).fetchone()
        return self._open(thread_id, row)

    def generation(self, thread_id: str) -> Version | None:
        """Return the version of the paused turn. Whether the row can be opened is not looked at."""
        with storage_errors(), self._pool.connection() as conn:
            row = conn.cursor(row_factory=tuple_row).execute(GENERATION, {"thread_id": thread_id}).fetchone()
        return Version(*row) if row else None

    def drop(self, thread_ids: Sequence[str], *, upto: str | None = None) -> None:
        """Delete the rows of these threads, or those whose head is not newer than `upto`."""
        with storage_errors(), self._pool.connection() as conn:
            conn.execute(DROP, {"thread_ids": list(thread_ids), "upto": upto})


def _belongs_to(thread_id: str, version: Version) -> bytes:
    """Return what a row is sealed for: a row copied to another thread, or one with another head, can't be opened."""
    return associate("checkpoint_spill", thread_id, *version)
