"""Embed anew, in the background, what belongs to another embedding model or size than the active one.

There is no list of work that could be lost: what is to be done are the rows of other spaces, and how far it has come is
what they say. Users whose rows are all in the active space are known by `user_memories.space_key`.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection

from discreet.driver_errors import storage_errors
from discreet.errors import EncryptionError, UserErasedError
from discreet.metrics import reembedded_rows, reembedding_failures, reembedding_rows_left
from discreet.ports import EmbeddingProvider
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.leases import REEMBEDDING, job_lease
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.database.users.locks import UserLocks
from discreet.storage.memories.rows import Vectors, text_of
from discreet.storage.memories.spaces.reembed_user import FIRST_ID, move_rows, rows_to_move, settle_user
from discreet.storage.memories.spaces.retry import embed_with_retries
from discreet.storage.memories.spaces.spaces import EmbeddingSpace, hold_space

logger = logging.getLogger(__name__)

BATCH_ROWS = 64
"""Rows that are embedded in one call: the local model takes some 2 s for them, a hosted one one request."""

BATCH_USERS = 64
"""Users whose rows go into a batch together: most have few."""

MAX_WANTED = 1_000
"""Users that are remembered as waiting for their turn."""

_LEFT: LiteralString = """
SELECT count(*) AS users, coalesce(sum(memories), 0)::bigint AS rows
FROM discreet.user_memories
WHERE space_key IS NULL OR space_key < %(space_key)s OR space_key > %(space_key)s
"""
"""Written so that an index answers it: with nothing to do it takes three probes."""

_NEXT_USERS: LiteralString = """
SELECT user_key FROM discreet.user_memories
WHERE user_key > %(after)s AND space_key IS DISTINCT FROM %(space_key)s
ORDER BY user_key
LIMIT %(limit)s
"""

_WANTED_USERS: LiteralString = """
SELECT user_key FROM discreet.user_memories
WHERE user_key = ANY (%(wanted)s) AND space_key IS DISTINCT FROM %(space_key)s
ORDER BY user_key
"""


@dataclass(kw_only=True)
class Moved:
    """What a run has done."""

    rows: int = 0
    """Moved to the space."""
    failures: int = 0
    """Rows that could not be embedded or opened; the next run tries them again."""
    finished: bool = False
    """Whether it came to the end. It did not if another process is at it, or another space is active."""


@dataclass
class _Sweep:
    """Where a run is among the users who are to be moved."""

    passed: UUID = FIRST_ID
    """The last user_key of those in turn."""
    users: list[UUID] = field(default_factory=list)
    """Whose rows are being moved."""
    first: UUID = FIRST_ID
    """Of the first of them, the id from which on."""


class Reembedding:
    """Moves all memories of a database to one space, batch by batch."""

    def __init__(
        self,
        pool: Pool,
        *,
        locks: UserLocks,
        embeddings: EmbeddingProvider,
        space: EmbeddingSpace,
        sealer: FieldSealer,
    ) -> None:
        """Use `pool`, whose owner closes it after this. `space` is that of `embeddings`."""
        self._pool = pool
        self._locks = locks
        self._embeddings = embeddings
        self._space = space
        self._sealer = sealer
        self._wanted: dict[UUID, None] = {}
        self._left = 0

    def want(self, user_key: UUID) -> None:
        """Move this user before others: a search has just met rows of theirs that it could not compare."""
        if len(self._wanted) < MAX_WANTED:
            self._wanted[user_key] = None

    async def left(self) -> int:
        """Return how many rows the users have who are to be moved, about; 0 if there are none.

        Somebody without a row counts as one, as nobody has looked yet.
        """
        with storage_errors():
            async with self._pool.connection() as conn, conn.cursor(binary=True) as cursor:
                row = await (await cursor.execute(_LEFT, {"space_key": self._space.key})).fetchone()
        left = 0 if row is None else max(row["users"], row["rows"])
        self._tell_left(left)
        return left

    def _tell_left(self, rows: int) -> None:
        self._left = max(0, rows)
        reembedding_rows_left.set(
            self._left
        )  # of several processes the last one's word holds: it can't be counted down

    async def run(self, guard: AsyncConnection[Any], done: Callable[[int], None] = lambda _: None) -> Moved:
        """Move what is to be moved, unless another process is at it, and as long as the space is active.

        `guard` is a connection apart from the pool: it holds the claim. `done` is told how many rows it were so far.

        Raises:
            ProviderError: The embedding model keeps failing.
            StorageError: The database failed. What was moved stays so.
        """
        moved, sweep = Moved(), _Sweep()
        with storage_errors():
            while not moved.finished:
                async with job_lease(guard, REEMBEDDING) as leased:
                    if not (leased and await hold_space(self._pool, self._space)):
                        break
                    await self._step(sweep, moved)
                done(moved.rows)
        return moved

    async def _step(self, sweep: _Sweep, moved: Moved) -> None:
        """Move one batch."""
        if not sweep.users:
            await self._next_users(sweep)
        if not sweep.users:
            moved.finished = True
            return
        keys = sweep.users
        rows = await rows_to_move(self._pool, keys, first=sweep.first, space_key=self._space.key, limit=BATCH_ROWS)
        await self._move(rows, moved)
        at = keys.index(rows[-1]["user_key"]) if len(rows) == BATCH_ROWS else len(keys)
        for user_key in keys[:at]:
            await settle_user(self._locks, user_key, space_key=self._space.key)
        sweep.users = keys[at:]
        sweep.first = UUID(int=rows[-1]["entry_id"].int + 1) if sweep.users else FIRST_ID

    async def _move(self, rows: Sequence[dict[str, Any]], moved: Moved) -> None:
        """Embed `rows`, which nobody has to wait for, and write those of each user in one transaction."""
        readable = [(row, text) for row in rows if (text := self._opened(row)) is not None]
        vectors = await embed_with_retries(self._embeddings, [text for _, text in readable]) if readable else []
        embedded: dict[UUID, list[tuple[dict[str, Any], Vectors]]] = defaultdict(list)
        for (row, _), vector in zip(readable, vectors, strict=True):
            if vector is not None:
                [checked] = self._space.checked([vector])
                embedded[row["user_key"]].append((row, checked))
        for user_key, pairs in embedded.items():
            try:
                rows_moved = await move_rows(self._locks, user_key, pairs, space_key=self._space.key)
            except UserErasedError:  # there is nothing to move any more
                continue
            moved.rows += rows_moved
            reembedded_rows.inc(rows_moved)
            self._tell_left(self._left - rows_moved)
        unreadable, refused = len(rows) - len(readable), vectors.count(None)
        moved.failures += unreadable + refused
        if unreadable or refused:
            reembedding_failures.labels(cause="encryption").inc(unreadable)
            reembedding_failures.labels(cause="provider").inc(refused)
            logger.warning("memory.rows_not_reembedded unreadable=%d refused=%d", unreadable, refused)

    def _opened(self, row: Mapping[str, Any]) -> str | None:
        """Return the text of `row`; None if its key is not known."""
        try:
            return text_of(row, self._sealer)
        except EncryptionError:
            return None

    async def _next_users(self, sweep: _Sweep) -> None:
        """Take those who have been searching, else the next ones in turn."""
        wanted, self._wanted = list(self._wanted), {}
        parameters = {"space_key": self._space.key, "limit": BATCH_USERS, "after": sweep.passed, "wanted": wanted}
        async with self._pool.connection() as conn, conn.cursor(binary=True) as cursor:
            rows = await (await cursor.execute(_WANTED_USERS, parameters)).fetchall() if wanted else []
            if not rows:
                rows = await (await cursor.execute(_NEXT_USERS, parameters)).fetchall()
                sweep.passed = rows[-1]["user_key"] if rows else sweep.passed
        sweep.users = [row["user_key"] for row in rows]
