"""Writers who go on saving while a server is killed, and what must be true of the database afterwards."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from pgvector.psycopg import register_vector

from discreet.errors import DiscreetError
from discreet.state.records import MemoryRecord
from discreet.storage.memories.memories import PostgresMemories
from discreet.storage.memories.rows import tokens_of
from testkit.keys import USER_KEYS

WRITERS = 16
RECORDS = 4
"""Of a batch."""
PATIENCE_SECONDS = 120


class Writers:
    """Save for a user each, batch after batch, whatever fails; know what was acknowledged."""

    def __init__(self, memories: PostgresMemories) -> None:
        self._memories: PostgresMemories | None = memories
        self.acknowledged: set[tuple[str, str]] = set()
        """User and batch."""
        self.failed: Counter[str] = Counter()
        """By code."""
        self._saved = asyncio.Event()

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[Writers]:
        """Save until the end of the block."""
        tasks = [asyncio.create_task(self._write(f"w{n}")) for n in range(WRITERS)]
        try:
            yield self
        finally:
            self._memories = None
            await asyncio.gather(*tasks)

    async def _write(self, user_id: str) -> None:
        number = 0
        while (memories := self._memories) is not None:
            number += 1
            batch = [
                MemoryRecord(text=f"{user_id} b{number} n{n}", type="event", tags=[f"b{number}"])
                for n in range(RECORDS)
            ]
            try:
                await memories.save(user_id, batch, dedup=False)
            except DiscreetError as error:
                self.failed[error.code] += 1
                await asyncio.sleep(0.05)
            else:
                self.acknowledged.add((user_id, f"b{number}"))
                self._saved.set()

    async def until(self, more: int) -> None:
        """Wait until so many more batches of every writer are acknowledged."""
        aim = Counter({f"w{n}": self._saves()[f"w{n}"] + more for n in range(WRITERS)})
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not self._saves() >= aim:
                self._saved.clear()
                await self._saved.wait()

    def _saves(self) -> Counter[str]:
        return Counter(user_id for user_id, _ in self.acknowledged)

    def check(self, dsn: str) -> None:
        """Assert that all acknowledged batches are stored, that none is in part, and that what is counted is there."""
        with psycopg.connect(dsn) as connection:
            register_vector(connection)
            for user_id in (f"w{n}" for n in range(WRITERS)):
                self._check(connection, user_id)

    def _check(self, connection: psycopg.Connection, user_id: str) -> None:
        given = (USER_KEYS.of_user(user_id),)
        rows = connection.execute("SELECT tags[1], lexical FROM discreet.memory WHERE user_key = %s", given).fetchall()
        batches = Counter(tag for tag, _ in rows)
        assert set(batches.values()) == {RECORDS}
        assert {batch for user, batch in self.acknowledged if user == user_id} <= batches.keys()
        memories = connection.execute("SELECT memories FROM discreet.user_memories WHERE user_key = %s", given)
        assert memories.fetchone() == (len(rows),)
        tokens = Counter(token for _, lexical in rows for token in tokens_of({"lexical": lexical}))
        counted: Counter[int] = Counter()
        for token, documents in connection.execute(_COUNTED, given):
            counted[token] += documents
        assert counted == tokens


_COUNTED = "SELECT unnest(tokens), unnest(documents) FROM discreet.user_token WHERE user_key = %s"
