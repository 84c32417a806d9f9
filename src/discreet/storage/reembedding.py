"""Embed anew, in the background, what belongs to another embedding model or size than the active one.

There is no list of work that could be lost: what is to be done are the rows of other spaces, and how far it has come is
what they say. People whose rows are all in the active space are known by `person.space_key`.
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
from discreet.errors import EncryptionError
from discreet.metrics import reembedded_rows, reembedding_failures, reembedding_rows_left
from discreet.ports import EmbeddingProvider
from discreet.storage.claims import REEMBEDDING, claim
from discreet.storage.memory_rows import text_of
from discreet.storage.moving import move_rows, rows_to_move, settle_person
from discreet.storage.patience import embed_patiently
from discreet.storage.pool import Pool
from discreet.storage.sealing import FieldSealer
from discreet.storage.spaces import EmbeddingSpace, hold_space

logger = logging.getLogger(__name__)

BATCH_ROWS = 64
"""Rows that are embedded in one call: the local model takes some 2 s for them, a hosted one one request."""

BATCH_PEOPLE = 64
"""People whose rows go into a batch together: most have few."""

MAX_WANTED = 1_000
"""People that are remembered as waiting for their turn."""

_ZERO = UUID(int=0)

_LEFT: LiteralString = """
SELECT count(*) AS people, coalesce(sum(memories), 0)::bigint AS rows
FROM discreet.person
WHERE space_key IS NULL OR space_key < %(space_key)s OR space_key > %(space_key)s
"""
"""Written so that an index answers it: with nothing to do it takes three probes."""

_NEXT_PEOPLE: LiteralString = """
SELECT user_key, user_id FROM discreet.person
WHERE user_key > %(after)s AND space_key IS DISTINCT FROM %(space_key)s
ORDER BY user_key
LIMIT %(limit)s
"""

_WANTED_PEOPLE: LiteralString = """
SELECT user_key, user_id FROM discreet.person
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
    """Where a run is among the people who are to be moved."""

    passed: int = 0
    """The last user_key of those in turn."""
    people: dict[int, str] = field(default_factory=dict)
    """Whose rows are being moved: user_id by user_key."""
    first: UUID = _ZERO
    """Of the first of them, the id from which on."""


class Reembedding:
    """Moves all memories of a database to one space, batch by batch."""

    def __init__(
        self, pool: Pool, *, embeddings: EmbeddingProvider, space: EmbeddingSpace, sealer: FieldSealer
    ) -> None:
        """Use `pool`, whose owner closes it after this. `space` is that of `embeddings`."""
        self._pool = pool
        self._embeddings = embeddings
        self._space = space
        self._sealer = sealer
        self._wanted: dict[int, None] = {}

    def want(self, user_key: int) -> None:
        """Move this person before others: a search has just met rows of theirs that it could not compare."""
        if len(self._wanted) < MAX_WANTED:
            self._wanted[user_key] = None

    async def left(self) -> int:
        """Return how many rows the people have who are to be moved, about; 0 if there are none.

        Somebody without a row counts as one, as nobody has looked yet.
        """
        with storage_errors():
            async with self._pool.connection() as conn, conn.cursor(binary=True) as cursor:
                row = await (await cursor.execute(_LEFT, {"space_key": self._space.key})).fetchone()
        left = 0 if row is None else max(row["people"], row["rows"])
        reembedding_rows_left.set(left)
        return left

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
                async with claim(guard, REEMBEDDING) as claimed:
                    if not (claimed and await hold_space(self._pool, self._space)):
                        break
                    await self._step(sweep, moved)
                done(moved.rows)
        return moved

    async def _step(self, sweep: _Sweep, moved: Moved) -> None:
        """Move one batch."""
        if not sweep.people:
            await self._next_people(sweep)
        if not sweep.people:
            moved.finished = True
            return
        keys = list(sweep.people)
        rows = await rows_to_move(self._pool, keys, first=sweep.first, space_key=self._space.key, limit=BATCH_ROWS)
        await self._move(rows, sweep.people, moved)
        at = keys.index(rows[-1]["user_key"]) if len(rows) == BATCH_ROWS else len(keys)
        for user_key in keys[:at]:
            await settle_person(self._pool, user_key, sweep.people.pop(user_key), space_key=self._space.key)
        sweep.first = UUID(int=rows[-1]["entry_id"].int + 1) if sweep.people else _ZERO

    async def _move(self, rows: Sequence[dict[str, Any]], people: Mapping[int, str], moved: Moved) -> None:
        """Embed `rows`, which nobody has to wait for, and write those of each person in one transaction."""
        readable = [(row, text) for row in rows if (text := self._opened(row)) is not None]
        vectors = await embed_patiently(self._embeddings, [text for _, text in readable]) if readable else []
        embedded: dict[int, list[tuple[dict[str, Any], list[float]]]] = defaultdict(list)
        for (row, _), vector in zip(readable, vectors, strict=True):
            if vector is not None:
                self._space.check(vector)
                embedded[row["user_key"]].append((row, vector))
        for user_key, pairs in embedded.items():
            rows_moved = await move_rows(self._pool, people[user_key], pairs, space_key=self._space.key)
            moved.rows += rows_moved
            reembedded_rows.inc(rows_moved)
            reembedding_rows_left.dec(rows_moved)
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

    async def _next_people(self, sweep: _Sweep) -> None:
        """Take those who have been searching, else the next ones in turn."""
        wanted, self._wanted = list(self._wanted), {}
        parameters = {"space_key": self._space.key, "limit": BATCH_PEOPLE, "after": sweep.passed, "wanted": wanted}
        async with self._pool.connection() as conn, conn.cursor(binary=True) as cursor:
            rows = await (await cursor.execute(_WANTED_PEOPLE, parameters)).fetchall() if wanted else []
            if not rows:
                rows = await (await cursor.execute(_NEXT_PEOPLE, parameters)).fetchall()
                sweep.passed = rows[-1]["user_key"] if rows else sweep.passed
        sweep.people = {row["user_key"]: row["user_id"] for row in rows}
