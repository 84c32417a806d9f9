"""People of many memories have indexes of their own, and find what they would find without."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

import numpy as np
import psycopg
import pytest
from testkit.keys import USER_KEYS
from testkit.sums import first_sum

from discreet.retrieval.lexical import DIMS, impacts, token_ids
from discreet.settings import Settings
from discreet.state.records import MemoryFilters, MemoryRecord
from discreet.storage import open_storage
from discreet.storage.database.keys import app_key_of
from discreet.storage.memories.large_users.users import LargeUsers
from discreet.storage.memories.search import arrange
from discreet.storage.memories.spaces.spaces import register_space
from discreet.testing import StubEmbeddings

pytestmark = pytest.mark.slow

LIMIT = 500
WORDS = [f"{a}{b}{c}{d}{e}" for a in "bdfgklmn" for b in "aeiou" for c in "prstvz" for d in "aeiou" for e in "dklmnz"]
SHARES = 1 / (np.arange(len(WORDS)) + 20)
"""How often they occur: Zipf's law as Mandelbrot has it, without the first twenty, which are stop words."""

_COPY = """
COPY discreet.memory (
    user_key, entry_id, app_key, space_key, type, created_at, embedding, sketch, lexical, app_name, text,
    importance, confidence, tags, conflict_flags, loop_flag, provenance, feedback
) FROM STDIN
"""
_INDEXES = "SELECT indexname FROM pg_indexes WHERE indexname LIKE 'memory\\_large%' ORDER BY 1"


@dataclass
class Crowd:
    """What `fill` has put into a database."""

    vectors: np.ndarray
    texts: list[str]


def fill(dsn, space, user_id, count, *, seed=0):
    """Store memories around 40 topics: vectors in clusters, words by Zipf's law. Saving each would take minutes."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(40, space.dims))
    topics = rng.integers(0, 40, count)
    vectors = centres[topics] + 0.9 * rng.normal(size=(count, space.dims))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    words = rng.choice(WORDS, 6 * count, p=SHARES / SHARES.sum())
    texts = [" ".join(words[6 * n : 6 * n + 6]) for n in range(count)]
    with psycopg.connect(dsn) as connection:
        user_key = USER_KEYS.of_user(user_id)
        connection.execute("INSERT INTO discreet.users (user_key) VALUES (%s)", (user_key,))
        connection.execute("INSERT INTO discreet.user_memories VALUES (%s, %s, %s)", (user_key, count, space.key))
        with connection.cursor().copy(_COPY) as copy:
            for number, (vector, text) in enumerate(zip(vectors, texts, strict=True)):
                copy.write_row(_row((user_key, app_key_of("default")), space, number, vector, text))
        connection.execute(
            "INSERT INTO discreet.token_frequency SELECT t, count(*) FROM unnest(%s::integer[]) t GROUP BY t",
            ([token for text in texts for token in set(token_ids(text, USER_KEYS.token_digest))],),
        )
        connection.execute("UPDATE discreet.corpus SET documents = %s, counted_at = now()", (count,))
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE discreet.memory")
    return Crowd(vectors, texts)


def _row(keys, space, number, vector, text):
    own = impacts(token_ids(text, USER_KEYS.token_digest))
    written = "[" + ",".join(f"{x:.4f}" for x in vector) + "]"
    bits = "".join("1" if x > 0 else "0" for x in vector)
    columns = (written, bits)
    lexical = "{" + ",".join(f"{place + 1}:{own[place]:.4f}" for place in sorted(own)) + f"}}/{DIMS}"
    entry_id = UUID(int=(number * 2654435761 % 2**32) << 96 | number + 1)
    return (keys[0], entry_id, keys[1], space.key, "event", "2026-01-01", *columns, lexical, "default", text,
            3, 0.5, "{}", "{}", False, "{}", "[]")  # fmt: skip


@asynccontextmanager
async def opened(dsn, dims=64, pool_size=4):
    """Yield a storage without anything in the background, its space, and what keeps the indexes of large users."""
    settings = Settings(reembed=False, large_user_memories=0, pool_size=pool_size)
    async with open_storage(dsn, embeddings=StubEmbeddings(dims), settings=settings) as storage:
        await first_sum(storage)
        space = await register_space(storage.pool, StubEmbeddings(dims))
        large_users = LargeUsers(
            storage.works_pool, dsn=storage.access.owner, space=space, limit=LIMIT, searching=storage.pool
        )
        storage.memories._large_users = large_users
        yield storage, space, large_users


def indexes_of(dsn):
    with psycopg.connect(dsn) as connection:
        return [name for (name,) in connection.execute(_INDEXES)]


async def ids_found(storage, user_id, query, vector, *, limit=5, filters=None):
    search = await storage.memories.plan(USER_KEYS.of_user(user_id), query, list(vector), limit=limit, filters=filters)
    async with storage.pool.connection() as conn, conn.cursor(binary=True) as cursor:
        rows = await (await cursor.execute(search.statement, search.parameters)).fetchall()
    return [row["entry_id"] for row in arrange(rows, limit)]


async def questions(crowd, count):
    """Yield questions near to memories, with words of them and of others."""
    rng = np.random.default_rng(7)
    for at in rng.integers(0, len(crowd.texts), count):
        vector = crowd.vectors[at] + 0.5 * rng.normal(size=crowd.vectors.shape[1]) / np.sqrt(crowd.vectors.shape[1])
        yield " ".join([*crowd.texts[at].split()[:2], *rng.choice(WORDS, 2)]), vector / np.linalg.norm(vector)


async def recall(storage, large_users, crowd, *, count, filters=None):
    """Return which part of the ordinary search's five best the other search finds."""
    assert large_users.find(USER_KEYS.of_user("ann"))
    shared = 0
    async for query, vector in questions(crowd, count):
        found = await ids_found(storage, "ann", query, vector, filters=filters)
        storage.memories._large_users = None
        exact = await ids_found(storage, "ann", query, vector, filters=filters)
        storage.memories._large_users = large_users
        shared += len(set(found) & set(exact))
    return shared / (5 * count)


FILTERS = pytest.mark.parametrize(
    "filters", [None, MemoryFilters(app_name="default")], ids=["all", "of an application"]
)


@pytest.mark.dialect
@FILTERS
@pytest.mark.parametrize("dims", [64, 1024])
async def test_the_same_is_found_as_without(database, dims, filters):
    async with opened(database, dims) as (storage, space, large_users):
        crowd = fill(database, space, "ann", 2_000 if dims == 64 else 600)
        await large_users.keep()
        assert await recall(storage, large_users, crowd, count=10, filters=filters) >= 0.95


async def test_words_of_another_user_are_not_found(database):
    async with opened(database) as (storage, space, large_users):
        fill(database, space, "ann", 600)
        await storage.memories.save("bob", [MemoryRecord(text="a quokka of another", type="event")])
        await large_users.keep()
        assert large_users.find(USER_KEYS.of_user("ann"))
        hits = await storage.memories.search("ann", "quokka", limit=20)
        assert "a quokka of another" not in {hit.record.text for hit in hits}


async def plan_of(storage, crowd, filters):
    words = " ".join(WORDS[90:94])
    search = await storage.memories.plan(
        USER_KEYS.of_user("ann"), words, list(crowd.vectors[0]), limit=5, filters=filters
    )
    async with storage.pool.connection() as conn:
        rows = await (await conn.execute(b"EXPLAIN (COSTS OFF) " + search.statement, search.parameters)).fetchall()
    return "\n".join(row["QUERY PLAN"] for row in rows)


@FILTERS
@pytest.mark.parametrize(("dims", "count"), [(128, 20_000), (1024, 6_000)])
async def test_twenty_thousand_are_searched_by_both_indexes_with_the_same_result(database, dims, count, filters):
    async with opened(database, dims) as (storage, space, large_users):
        crowd = fill(database, space, "ann", count)
        await large_users.keep()
        plan = await plan_of(storage, crowd, filters)
        for name in indexes_of(database):
            assert re.search(rf"Index Scan (using|on) {name}\b", plan), plan
        assert not re.search(r"Seq Scan on memory\b", plan), plan
        assert await recall(storage, large_users, crowd, count=60, filters=filters) >= 0.95


async def test_a_rare_word_is_found_wherever_its_vector_is(database):
    async with opened(database) as (storage, space, large_users):
        crowd = fill(database, space, "ann", LIMIT + 100)
        await large_users.keep()
        rare = MemoryRecord(text=f"zygomorphic {' '.join(WORDS[:30])}")
        await storage.memories.save("ann", [rare])
        farthest = "[" + ",".join(f"{-x:.4f}" for x in crowd.vectors[0]) + "]"
        with psycopg.connect(database) as connection:
            connection.execute(
                "UPDATE discreet.memory SET embedding = %s WHERE entry_id = %s", (farthest, rare.entry_id)
            )
        assert rare.entry_id in await ids_found(storage, "ann", "zygomorphic", crowd.vectors[0], limit=50)


@pytest.mark.dialect
async def test_what_ends_later_is_found_and_what_has_ended_is_not(database):
    async with opened(database) as (storage, space, large_users):
        fill(database, space, "ann", LIMIT + 100)
        await large_users.keep()
        with psycopg.connect(database) as connection:
            connection.execute("UPDATE discreet.memory SET valid_to = now() - interval '1 day'")
            [(lasting,)] = connection.execute(
                "UPDATE discreet.memory SET valid_to = now() + interval '1 day'"
                " WHERE entry_id = (SELECT min(entry_id::text)::uuid FROM discreet.memory) RETURNING entry_id"
            ).fetchall()
        hits = await storage.memories.search("ann", "something else")
        assert [hit.record.entry_id for hit in hits] == [lasting]


async def test_indexes_come_and_go_with_the_memories(database):
    async with opened(database) as (_, space, large_users):
        fill(database, space, "ann", 10)

        async def with_memories(count):
            with psycopg.connect(database) as connection:
                connection.execute("UPDATE discreet.user_memories SET memories = %s", (count,))
            await large_users.keep()
            return len(indexes_of(database)), large_users.find(USER_KEYS.of_user("ann")) is not None

        assert await with_memories(LIMIT) == (0, False)
        assert await with_memories(LIMIT + 1) == (2, True)
        assert await with_memories(LIMIT // 2) == (2, True)
        assert await with_memories(LIMIT // 2 - 1) == (0, False)


@pytest.mark.direct("parameters in the DSN")
async def test_a_killed_build_is_repeated(database):
    async with opened(database) as (_, space, large_users):
        fill(database, space, "ann", LIMIT + 1)
        await large_users.keep()
        names = indexes_of(database)
        with psycopg.connect(database) as connection:
            connection.execute(
                "UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass", (f"discreet.{names[0]}",)
            )
        await large_users.load()
        assert large_users.find(USER_KEYS.of_user("ann")) is None
        await large_users.keep()
        assert large_users.find(USER_KEYS.of_user("ann"))
        assert indexes_of(database) == names


async def test_many_processes_at_once_build_each_index_once(database):
    async with opened(database) as (storage, space, _):
        fill(database, space, "ann", LIMIT + 1)
        keepers = [LargeUsers(storage.works_pool, dsn=storage.access.owner, space=space, limit=LIMIT) for _ in range(4)]
        await asyncio.gather(*(keeper.keep() for keeper in keepers))
        assert len(indexes_of(database)) == 2


async def test_a_process_that_does_not_know_of_a_dropped_index_finds_the_same(database):
    async with opened(database) as (storage, space, large_users):
        crowd = fill(database, space, "ann", LIMIT + 1)
        await large_users.keep()
        async for query, vector in questions(crowd, 1):
            before = await ids_found(storage, "ann", query, vector)
            with psycopg.connect(database) as connection:
                for name in indexes_of(database):
                    connection.execute(f"DROP INDEX discreet.{name}")
            assert await ids_found(storage, "ann", query, vector) == before


@pytest.mark.dialect
async def test_a_newer_statement_of_a_conflict_goes_first(database):
    async with opened(database) as (storage, space, large_users):
        crowd = fill(database, space, "ann", LIMIT + 100)
        await large_users.keep()
        async for query, vector in questions(crowd, 1):
            best = (await ids_found(storage, "ann", query, vector))[0]
            newer = (await ids_found(storage, "ann", query, vector, limit=3))[-1]
            with psycopg.connect(database) as connection:
                connection.execute("UPDATE discreet.memory SET created_at = now() WHERE entry_id = %s", (newer,))
                connection.execute(
                    "INSERT INTO discreet.memory_conflict SELECT user_key, %s, %s FROM discreet.users", (best, newer)
                )
            assert (await ids_found(storage, "ann", query, vector))[:2] == [newer, best]


async def test_other_settings_of_the_index_scan_are_left_as_they_were(database):
    async with opened(database, pool_size=1) as (storage, space, large_users):
        crowd = fill(database, space, "ann", LIMIT + 1)
        await large_users.keep()
        await ids_found(storage, "ann", "words", crowd.vectors[0])
        async with storage.pool.connection() as conn:
            row = await (await conn.execute("SHOW hnsw.ef_search")).fetchone()
        assert row["hnsw.ef_search"] == "40"
