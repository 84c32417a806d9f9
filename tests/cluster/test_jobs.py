"""What is done for all users together reads and writes many shards: sums, expiry, sweeps, re-embedding."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import psycopg
import pytest
from testkit.keys import USER_KEYS

from discreet.retrieval.lexical import token_ids
from discreet.state.records import MemoryRecord, TurnRecord
from discreet.storage import open_storage
from discreet.storage.database.connecting.connection import connect
from discreet.storage.database.expiry import delete_expired
from discreet.storage.memories.spaces.reembedding import Reembedding
from discreet.storage.memories.spaces.reindex import rebuild_search_index
from discreet.storage.memories.spaces.spaces import activate_space, register_space
from discreet.storage.memories.token_counts import TokenSums
from discreet.storage.retention.tables import ANONYMOUS, SESSIONS, VAULT_TURNS
from discreet.testing import StubEmbeddings

NOW = datetime(2026, 3, 1, tzinfo=UTC)
USERS = [f"user {n}" for n in range(12)]


def opened(dsn, dims=64):
    return open_storage(dsn, embeddings=StubEmbeddings(dims), maintained=False)


@pytest.fixture
async def storage(database):
    """Return a storage with some memories of users who are on several shards."""
    async with opened(database) as storage:
        for user in USERS:
            await storage.memories.save(user, [MemoryRecord(text="Keeps parrots"), MemoryRecord(text="Likes tea")])
        yield storage


def said(thread_id):
    return TurnRecord(
        request_id="r", user_id=None, thread_id=thread_id, input_text="a", output_text="b", started_at=NOW, ended_at=NOW
    )


def value(connection, query, given=None):
    return connection.execute(query, given).fetchone()[0]


async def test_tokens_are_summed_over_all_users_and_those_that_are_gone_too(storage, watching):
    [parrots] = token_ids("parrots", USER_KEYS.token_digest)
    documents = "SELECT max(documents) FROM discreet.token_frequency WHERE token = %s"
    for left in (len(USERS), 0):
        async with storage.pool.connection() as conn, conn.transaction():
            await TokenSums(storage.pool).sum(conn.cursor(binary=True))
        assert value(watching, documents, (parrots,)) == (left or None)
        assert value(watching, "SELECT documents FROM discreet.corpus") == 2 * left
        for user in USERS:
            for memory in await storage.memories.latest(user):
                await storage.memories.delete(user, memory.entry_id)


async def test_what_expired_goes_from_all_shards(storage, watching):
    for user in USERS:
        await storage.short_term.touch(user, "t")
    for thread in range(6):
        await storage.log.append(said(f"{thread}"))
    watching.execute(
        "INSERT INTO discreet.vault_turn SELECT gen_random_uuid(), '2026-01-01' FROM generate_series(1, 25)"
    )
    watching.execute("UPDATE discreet.short_term_session SET purge_at = '2026-01-01'")
    watching.execute("UPDATE discreet.users SET expires_at = '2026-01-01' WHERE expires_at IS NOT NULL")
    pool = storage.pool
    for table, batch, rows in ((SESSIONS, 5, len(USERS)), (VAULT_TURNS, 10, 25), (ANONYMOUS, 4, 6)):
        assert sum([gone async for gone in delete_expired(pool, table, until=NOW, batch=batch)]) == rows
    assert value(watching, "SELECT count(*) FROM discreet.users") == len(USERS)
    assert value(watching, "SELECT count(*) FROM discreet.conversation_log") == 0


async def test_namespaces_are_listed_and_swept_wherever_they_are(storage, watching):
    store = storage.store
    for user in USERS:
        await store.aput(("notes", user), "1", {"text": "two parrots"}, ttl=1)
        await store.aput(("notes", user, "kept"), "1", {"text": "three parrots"})
    assert len(await store.alist_namespaces(prefix=("notes",))) == 2 * len(USERS)
    assert len(await store.asearch(("notes",), query="parrots", limit=50)) == 2 * len(USERS)
    assert len(await store.asearch(("notes",), filter={"text": "three parrots"}, limit=50)) == len(USERS)
    watching.execute("UPDATE discreet.store_item SET expires_at = '2026-01-01' WHERE expires_at IS NOT NULL")
    assert len(await store.alist_namespaces(prefix=("notes",))) == len(USERS)
    assert await store.sweep_ttl() == len(USERS)
    assert value(watching, "SELECT count(*) FROM discreet.store_item") == len(USERS)
    assert value(watching, "SELECT count(*) FROM discreet.memory WHERE type = 'item'") == len(USERS)


async def test_all_memories_move_to_another_space_and_the_index_is_rebuilt(storage, database, watching):
    embeddings = StubEmbeddings(dims=1024)
    space = await register_space(storage.pool, embeddings)
    await activate_space(storage.pool, space)
    memories = storage.memories
    job = Reembedding(
        storage.pool, locks=memories._locks, embeddings=embeddings, space=space, sealer=memories._rules.sealer
    )
    assert await job.left() == 2 * len(USERS)
    async with await connect(database) as guard:
        moved = await job.run(guard)
    assert (moved.rows, moved.failures, moved.finished, await job.left()) == (2 * len(USERS), 0, True, 0)
    await rebuild_search_index(database)
    assert value(watching, "SELECT count(*) FROM discreet.memory WHERE space_key = %s", (space.key,)) == 2 * len(USERS)


async def test_hits_of_users_on_several_nodes_are_counted(storage, watching):
    await asyncio.gather(*(storage.memories.search(user, "parrots", limit=1) for user in USERS))
    await storage.memories._usage.flush()
    assert value(watching, "SELECT sum(hits)::int FROM discreet.memory_stats") == len(USERS)


def test_rows_are_on_every_worker(database, cluster):
    with psycopg.connect(database) as connection:
        nodes = connection.execute(
            "SELECT DISTINCT nodename, nodeport FROM citus_shards WHERE table_name = 'discreet.memory'::regclass"
        )
        assert {tuple(node) for node in nodes} == set(cluster.workers)
