"""Which indexes users of many memories should have, and how they are made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from psycopg import AsyncConnection, sql

from discreet.storage.database.connecting.connection import StorageConnection
from discreet.storage.memories.spaces.spaces import EmbeddingSpace

MAX_LARGE_USERS = 50
"""Users who get indexes, those of the most memories. Every INSERT opens every index of the table,
anybody's: these 100 add 0.7 ms to a statement that takes 0.4."""

MAX_WHOLE_DIMS = 512
"""Wider vectors are indexed by their signs: an index of 70,000 whole ones of 1536 dims takes 560 MB."""

_NAME = re.compile(r"memory_large_([0-9a-f]{32})_(words|\d+)")


@dataclass(frozen=True)
class Index:
    """One index of one user."""

    user_key: UUID
    """Whose rows it holds."""
    holds: Literal["words"] | int
    """Words, or the vectors of the space with this key."""

    @property
    def name(self) -> str:
        """Its name in the schema discreet."""
        return f"memory_large_{self.user_key.hex}_{self.holds}"


@dataclass(frozen=True)
class User:
    """Somebody who may need indexes."""

    user_key: UUID
    memories: int
    """How many rows."""
    settled: bool
    """Whether all of them are in the space."""


@dataclass(frozen=True)
class Changes:
    """What is to be done, in this order."""

    drop: list[str]
    """Names."""
    build: list[Index]

    def __bool__(self) -> bool:
        return bool(self.drop or self.build)


def is_whole(space: EmbeddingSpace) -> bool:
    """Whether an index of the vectors of `space` holds them whole, or their signs."""
    return space.dims <= MAX_WHOLE_DIMS


def index_named(name: str) -> Index | None:
    """Return the index of this name; None if it is none of these."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    return Index(UUID(match[1]), "words" if match[2] == "words" else int(match[2]))


def changes(users: Iterable[User], found: Mapping[str, bool], *, limit: int, space_key: int) -> Changes:
    """Return what brings the indexes `found`, by name whether they are valid, to what `users` need.

    `users` are all of at least half of `limit` memories. Above it they get indexes, the vectors once they are all in
    the space; those between keep what they have, so that nobody's indexes come and go. What a killed build has left is
    invalid and built again.
    """
    ranked = sorted(users, key=lambda user: (-user.memories, user.user_key))[:MAX_LARGE_USERS]
    kept = {index.name for user in ranked for index in _of(user, space_key)}
    build = [
        index
        for user in ranked
        if user.memories > limit
        for index in _of(user, space_key)
        if not found.get(index.name) and (user.settled or index.holds == "words")
    ]
    ours = [name for name in found if index_named(name) is not None]
    return Changes(sorted(name for name in ours if not found[name] or name not in kept), build)


def _of(user: User, space_key: int) -> tuple[Index, Index]:
    return Index(user.user_key, "words"), Index(user.user_key, space_key)


async def drop(conn: AsyncConnection[Any], name: str) -> None:
    """Drop an index, beside everything else that goes on. `conn` is in autocommit."""
    await conn.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS discreet.{}").format(sql.Identifier(name)))


async def build(conn: StorageConnection[Any], index: Index, space: EmbeddingSpace) -> None:
    """Build an index, beside everything else that goes on. `conn` is in autocommit.

    With one process of the server, since pgvector's parallel build needs as much shared memory as it may use memory,
    and a container has 64 MB; with enough memory for 100,000 vectors of 512 dims, since beyond it a build slows down.
    Behind a pooler both are as the role has them.
    """
    await conn.set_session(max_parallel_maintenance_workers="0", maintenance_work_mem="256MB")
    await conn.execute(_definition(index, space))


def _definition(index: Index, space: EmbeddingSpace) -> sql.Composed:
    create = sql.SQL("CREATE INDEX CONCURRENTLY IF NOT EXISTS {} ON discreet.memory ").format(
        sql.Identifier(index.name)
    )
    user_key, dims = sql.Literal(str(index.user_key)), sql.Literal(space.dims)
    if index.holds == "words":
        # Without the list of pending entries, which every search would have to read: 30 words a row are few.
        return create + sql.SQL(
            "USING gin (discreet.token_places(lexical)) WITH (fastupdate = off) WHERE user_key = {}"
        ).format(user_key)
    where = sql.SQL(" WHERE user_key = {} AND space_key = {} AND valid_to IS NULL")
    column = "((embedding::halfvec({})) halfvec_ip_ops)" if is_whole(space) else "((sketch::bit({})) bit_hamming_ops)"
    return create + sql.SQL("USING hnsw " + column).format(dims) + where.format(user_key, sql.Literal(index.holds))
