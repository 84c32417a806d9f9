"""What makes one user slow while others call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from itertools import count
from typing import Any, LiteralString

import psycopg
from calling.traffic import Users
from racing.filling import keys
from racing.people import make_person

from discreet.errors import DiscreetError
from discreet.state.records import MemoryRecord
from discreet.storage import Storage

HELD_SECONDS = 2.0
"""How long the other session keeps a row."""
BETWEEN_SECONDS = 0.05
"""From one time to the next."""
IMPORTED = 1_000
"""Records of one import."""
IMPORTS = 3
"""Different ones; then they begin anew."""

_AS_A_WRITER: LiteralString = "SELECT FROM discreet.user_memories WHERE user_key = %s FOR NO KEY UPDATE"
_AS_AN_ERASURE: LiteralString = "SELECT FROM discreet.users WHERE user_key = %s FOR UPDATE"

Trouble = Callable[[Storage, Users, str], AbstractAsyncContextManager[None]]
"""Goes on while it is open, for the user of that id."""


def held_by_a_writer(storage: Storage, users: Users, user_id: str) -> AbstractAsyncContextManager[None]:
    """Have another session lock the user's memories, as a process that saves does."""
    return _beside(_hold(storage.dsn, _AS_A_WRITER, user_id))


def held_by_an_erasure(storage: Storage, users: Users, user_id: str) -> AbstractAsyncContextManager[None]:
    """Have another session lock the user, as a process that erases them does."""
    return _beside(_hold(storage.dsn, _AS_AN_ERASURE, user_id))


def importing(storage: Storage, users: Users, user_id: str) -> AbstractAsyncContextManager[None]:
    """Have this process save a thousand records of the user, again and again."""
    return _beside(_import(storage, users, user_id))


async def _hold(dsn: str, statement: LiteralString, user_id: str) -> None:
    user_key = keys().of_user(user_id)
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        while True:
            async with connection.transaction():
                await connection.execute(statement, (user_key,))
                await asyncio.sleep(HELD_SECONDS)
            await asyncio.sleep(BETWEEN_SECONDS)


async def _import(storage: Storage, users: Users, user_id: str) -> None:
    batches = []
    for number in range(IMPORTS):
        person = make_person(2_000_000 + number, memories=IMPORTED, dims=users.embeddings.dims)
        users.embeddings.add(person.texts, person.vectors)
        batches.append(person.texts)
    for number in count():
        records = [MemoryRecord(text=text) for text in batches[number % IMPORTS]]
        with suppress(DiscreetError):  # busy: the callers are writing for that user too
            await storage.memories.save(user_id, records)


@asynccontextmanager
async def _beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
