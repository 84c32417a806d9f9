"""Indexes of their own for users with so many memories that reading all of them takes too long.

A search reads every memory of a person: 0.4 ms for 1,000, 42 ms for 70,000 (two cores). Above a limit a user gets two
partial indexes: HNSW for the vectors and GIN for the words. They are built and dropped CONCURRENTLY, by one process at a
time. The catalogue says which there are; a process remembers it, and if that is out of date a search takes longer and
finds the same.
"""

from __future__ import annotations

import logging
from typing import Any, LiteralString
from uuid import UUID

from discreet.driver_errors import storage_errors
from discreet.erased import Erased, on_erasure
from discreet.storage.database.connecting.connection import StorageConnection, connect
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.connecting.target import Target
from discreet.storage.database.leases import LARGE_USERS, job_lease
from discreet.storage.memories.large_users.indexes import Changes, Index, User, build, changes, drop, index_named
from discreet.storage.memories.spaces.spaces import EmbeddingSpace, hold_space

logger = logging.getLogger(__name__)

_INDEXES: LiteralString = """
SELECT c.relname AS name, i.indisvalid AS valid
FROM pg_index i
JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = 'discreet.memory'::regclass AND starts_with(c.relname, 'memory_large_')
"""

_USERS: LiteralString = """
SELECT user_key, memories, space_key IS NOT DISTINCT FROM %(space_key)s AS settled
FROM discreet.user_memories
WHERE memories > 0 AND memories >= %(limit)s / 2
"""
"""Reads all of `user_memories`, once a minute by one process: an index on a number that every save changes would make each
save write into it."""


class LargeUsers:
    """Knows who has indexes of their own, and keeps those in step with how many memories users have."""

    def __init__(
        self, pool: Pool, *, dsn: str | Target, space: EmbeddingSpace, limit: int, searching: Pool | None = None
    ) -> None:
        """Use `pool`, whose owner closes it after this; indexes are built on connections to `dsn` apart from it.

        `searching` is the pool of those who search, if it is another.
        """
        self._pool = pool
        self._searching = searching or pool
        self.apart = False
        """Whether row-level security applies to those who search, on one server."""
        self._dsn = dsn
        self._space = space
        self._limit = limit
        self._known: dict[UUID, User] = {}
        on_erasure(self._forget)

    def _forget(self, erased: Erased) -> None:
        self._known.pop(erased.user_key, None)

    def find(self, user_key: UUID) -> User | None:
        """Return a user who has both indexes; None for everybody else."""
        return self._known.get(user_key)

    async def load(self) -> None:
        """Read who has indexes.

        Raises:
            StorageError: The database failed; what was known stays.
        """
        with storage_errors():
            found = await self._found()
            whole = {index for name, valid in found.items() if valid and (index := index_named(name)) is not None}
            keys = {i.user_key for i in whole if i.holds == "words" and Index(i.user_key, self._space.key) in whole}
            users = await self._users() if keys else []
            async with self._searching.connection() as conn:
                self.apart = isinstance(conn, StorageConnection) and conn.row_security and not conn.is_cluster
        self._known = {user.user_key: user for user in users if user.user_key in keys}

    async def keep(self) -> None:
        """Build and drop indexes as users' numbers of memories ask for, then read who has some.

        Left to another process if that is at it, or if it works in another space than the active one.

        Raises:
            StorageError: The database failed; what was built stays, the next call goes on.
        """
        with storage_errors():
            if await self._changes():
                async with await connect(self._dsn) as guard, job_lease(guard, LARGE_USERS) as leased:
                    if leased and await hold_space(self._pool, self._space):
                        await self._make(await self._changes())
        await self.load()

    async def _make(self, wanted: Changes) -> None:
        async with await connect(self._dsn) as conn:
            for name in wanted.drop:
                await drop(conn, name)
                logger.info("memory.large_index_dropped index=%s", name)
            for index in wanted.build:
                await build(conn, index, self._space)
                logger.info("memory.large_index_built index=%s", index.name)

    async def _changes(self) -> Changes:
        return changes(await self._users(), await self._found(), limit=self._limit, space_key=self._space.key)

    async def _users(self) -> list[User]:
        rows = await self._rows(_USERS, {"space_key": self._space.key, "limit": self._limit})
        return [User(row["user_key"], row["memories"], settled=row["settled"]) for row in rows]

    async def _found(self) -> dict[str, bool]:
        return {row["name"]: row["valid"] for row in await self._rows(_INDEXES)}

    async def _rows(self, query: LiteralString, parameters: Any = None) -> list[dict[str, Any]]:
        async with self._pool.connection() as conn, conn.cursor(binary=True) as cursor:
            return await (await cursor.execute(query, parameters)).fetchall()
