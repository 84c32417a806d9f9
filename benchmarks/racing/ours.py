"""Discreet's memories, hybrid search."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, LiteralString

from racing.contestant import LIMIT, POOL_SIZE
from racing.filling import TEMPLATE, copy_users, fill, keys, settings_with
from racing.people import Lookup, Person

from discreet.ports import TextRedactor
from discreet.state.records import MemoryRecord
from discreet.storage import Storage, open_storage
from discreet.storage.memories.token_counts import TokenSums

_COUNT: LiteralString = """
SELECT count(*) AS memories FROM discreet.memory WHERE user_key = %s AND valid_to IS NULL
"""


class NothingToRedact:
    """Leaves texts alone, so that only the database is measured."""

    def redact(self, text: str) -> str:
        """Return `text`."""
        return text


class Ours:
    """Saves and searches as an application does."""

    name = "discreet"
    tables = "discreet"

    def __init__(self, redactor: TextRedactor | None = None) -> None:
        """Redact what is saved and asked for with `redactor`, by default not at all."""
        self._redactor = redactor or NothingToRedact()

    async def load(self, dsn: str, people: Sequence[Person], dims: int) -> None:
        """Fill in `people`: a memory that was saved gives all columns but those that differ from one to the next."""
        embeddings = Lookup(dims)
        embeddings.add([TEMPLATE], people[0].vectors[:1])
        async with self._open(dsn, embeddings) as storage:
            await storage.memories.save(TEMPLATE, [MemoryRecord(text=TEMPLATE)])
            await fill(storage.pool, people)

    async def multiply(self, dsn: str, people: Sequence[Person], times: int) -> None:
        """Let there be `times` as many people, the new ones, `copied`, with the memories of `people`."""
        async with self._open(dsn, Lookup(people[0].vectors.shape[1])) as storage:
            for number in range(1, times):
                await copy_users(storage.pool, {copied(person.user_id, number): person.user_id for person in people})
            async with storage.pool.connection() as connection, connection.transaction():
                await TokenSums(storage.pool).sum(connection.cursor(binary=True))

    @asynccontextmanager
    async def open(self, dsn: str, embeddings: Lookup, **settings: Any) -> AsyncIterator[OurRace]:
        """Open the storage as an application with these settings does."""
        async with self._open(dsn, embeddings, **settings) as storage:
            yield OurRace(storage)

    @asynccontextmanager
    async def _open(self, dsn: str, embeddings: Lookup, **settings: Any) -> AsyncIterator[Storage]:
        given = settings_with(**{"pool_size": POOL_SIZE, **settings})
        async with open_storage(dsn, settings=given, embeddings=embeddings, redactor=self._redactor) as storage:
            yield storage


class OurRace:
    """Discreet with open connections."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    async def search(self, user_id: str, question: str) -> list[str]:
        """Search by meaning and words."""
        return [hit.record.text for hit in await self.storage.memories.search(user_id, question, limit=LIMIT)]

    async def save(self, user_id: str, texts: Sequence[str]) -> None:
        """Save facts."""
        await self.storage.memories.save(user_id, [MemoryRecord(text=text) for text in texts])

    async def remember(self, user_id: str, text: str) -> None:
        """Save one fact; one that is known is refreshed, under the lock of the person."""
        await self.storage.memories.save(user_id, [MemoryRecord(text=text)])

    async def count(self, user_id: str) -> int:
        """Count the current memories."""
        async with self.storage.pool.connection() as connection:
            row = await (await connection.execute(_COUNT, (keys().of_user(user_id),))).fetchone()
        assert row is not None
        return int(row["memories"])


def copied(user_id: str, number: int) -> str:
    """Return the user_id of copy `number` of somebody."""
    return f"copy {number} of {user_id}"
