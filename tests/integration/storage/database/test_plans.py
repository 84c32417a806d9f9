"""What a query reads: 50 people with 1,000 memories each, and plans that were made before there were any."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import numpy as np
import psycopg
import pytest
from testkit.keys import USER_KEYS

from discreet.settings import Settings
from discreet.state.records import MemoryFilters, MemoryRecord, TurnRecord
from discreet.storage import open_storage
from discreet.storage.database.keys import app_key_of, digest
from discreet.storage.memories.browsing import build_latest
from discreet.storage.memories.search import MOST, build_search, question_parameters
from discreet.storage.memories.spaces.spaces import EmbeddingSpace
from discreet.storage.memories.vector_store import build_nearest
from discreet.testing import StubEmbeddings

pytestmark = [
    pytest.mark.one_server("reads plans, which are the nodes'"),
    pytest.mark.own_database("plans follow the statistics that earlier tests left"),
]

DIMS = 16
PEOPLE, MEMORIES = 50, 1_000
PERSON = "p7"
DAY = datetime(2026, 3, 1, tzinfo=UTC)

FILL = """
WITH space AS (
    INSERT INTO discreet.embedding_space (space_key, name, dims, cosine_zero, cosine_one, activated_at, used_at)
    SELECT coalesce(max(space_key), 0) + 1, %(space)s, %(dims)s, 0, 1, now(), now() FROM discreet.embedding_space
    ON CONFLICT (name) DO UPDATE SET dims = excluded.dims RETURNING space_key
), person AS (
    INSERT INTO discreet.users (user_key) SELECT unnest(%(users)s::uuid[])
    ON CONFLICT (user_key) DO UPDATE SET epoch = 1 RETURNING user_key
), counted AS (
    INSERT INTO discreet.user_memories (user_key, memories) SELECT user_key, %(memories)s FROM person
    ON CONFLICT DO NOTHING
)
INSERT INTO discreet.memory (
    user_key, entry_id, app_key, space_key, type, created_at, embedding, sketch, lexical, app_name, text, thread_id, thread_key, position, agent_id, importance, confidence, tags, conflict_flags, loop_flag,
    provenance, feedback
)
SELECT user_key, gen_random_uuid(), %(app_key)s, space_key, 'user_fact', now() - n * interval '1 minute',
       v, binary_quantize(v), ('{' || n || ':1}/1000000000')::sparsevec,
       'default', 'text ' || n, 'thread ' || n %% 10, md5('thread ' || n %% 10)::uuid, n, 'agent ' || n %% 10,
       5, 1, ARRAY['tag ' || n %% 10], '{}', false, '{}', '[]'
FROM person, space, generate_series(1, %(memories)s) n,
     LATERAL (SELECT array_fill((n / 1000.0)::real, ARRAY[%(dims)s])::halfvec) AS vector (v)
"""

FILL_LOG = """
WITH session AS (
    INSERT INTO discreet.session_record (user_key, thread_key, thread_id, app_name, started_at, ended_at, rounds)
    SELECT gen_random_uuid(), gen_random_uuid(), 'thread ' || n, 'default', now(), now(), 10 FROM generate_series(1, 1000) n
    RETURNING user_key, thread_key
)
INSERT INTO discreet.conversation_log (
    user_key, request_id, thread_key, app_name, modality, input_text, output_text, is_emergency, loop_flag, provenance,
    started_at, ended_at
)
SELECT user_key, gen_random_uuid()::text, thread_key, 'default', 'text', 'hello', 'hello', false, false, '{}', now(), now()
FROM session, generate_series(1, 10)
"""

READ = """
SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = 'discreet')
     + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = 'discreet') AS rows
"""


@pytest.fixture(scope="module")
def crowd(make_database, migrated_template) -> Iterator[str]:
    """Return a database with `PEOPLE` x `MEMORIES` memories, vacuumed and analysed."""
    with make_database(template=migrated_template) as dsn:
        with psycopg.connect(dsn, autocommit=True) as connection:
            fill(connection, people=PEOPLE, memories=MEMORIES, dims=DIMS)
            connection.execute("VACUUM ANALYZE")
        yield dsn


def fill(connection, *, people, memories, dims):
    space = StubEmbeddings(dims).name
    connection.execute(
        "SET session_replication_role = replica"
    )  # foreign keys hold by construction; checking them takes long
    users = [USER_KEYS.of_user(f"p{number}") for number in range(1, people + 1)]
    given = {"users": users, "app_key": app_key_of("default"), "memories": memories, "dims": dims, "space": space}
    connection.execute(FILL, given)


def space_of(dims):
    return EmbeddingSpace(key=1, dims=dims, calibration=StubEmbeddings(dims).calibration, opened_at=datetime.now(UTC))


def search_for(*, dims=DIMS, filters=None, few=0):
    parameters = {
        "user_key": USER_KEYS.of_user(PERSON),
        "least_cosine": -1.0,
        "limit": 5,
        **question_parameters(np.eye(1, dims, dtype=np.float32)[0], {5: 1.0, 6: 1.0}, space_of(dims)),
    }
    return build_search(parameters, fusion="convex", filters=filters, few=few)


async def reads_of_memories(dsn, search):
    """Return the nodes that read discreet.memory."""
    async with open_storage(dsn, embeddings=StubEmbeddings(DIMS)) as storage, storage.pool.connection() as connection:
        cursor = await connection.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + search.statement, search.parameters)
        row = await cursor.fetchone()
    found = [
        node for node in nodes(row["QUERY PLAN"]) if node.get("Relation Name") == "memory" and node["Actual Loops"]
    ]
    assert "Seq Scan" not in {node["Node Type"] for node in found}, json.dumps(row, indent=1)
    return found


def nodes(plan):
    """Yield every node of a plan in JSON."""
    if isinstance(plan, list):
        for item in plan:
            yield from nodes(item)
    elif isinstance(plan, dict):
        yield plan
        for value in plan.values():
            yield from nodes(value)


IN_THE_INDEX = {
    "none": None,
    "application": MemoryFilters(app_name="default"),
    "type": MemoryFilters(types=["user_fact"]),
    "time": MemoryFilters(after=DAY, before=DAY.replace(year=2099)),
    "running thread": MemoryFilters(running_thread="thread 3"),
}
IN_THE_TABLE = {
    "agent": MemoryFilters(agent_id="agent 3"),
    "tag": MemoryFilters(tags=["tag 3"]),
    "type and tag": MemoryFilters(types=["user_fact"], tags=["tag 3"]),
}


def check_a_shortlist_is_read(found):
    """See that all is compared in the covering index, and that only what this lets through is read from the table."""
    scan, fetched = sorted(found, key=lambda node: -node["Actual Rows"])
    assert (scan["Node Type"], scan["Index Name"], scan["Heap Fetches"]) == ("Index Only Scan", "memory_pkey", 0)
    assert scan["Actual Rows"] == MEMORIES
    assert (fetched["Node Type"], fetched["Index Name"], fetched["Actual Rows"]) == ("Index Scan", "memory_pkey", 1)
    assert fetched["Actual Loops"] == MOST


@pytest.mark.slow
@pytest.mark.parametrize("filters", IN_THE_INDEX.values(), ids=IN_THE_INDEX)
async def test_a_search_reads_all_it_compares_from_the_covering_index(crowd, filters):
    check_a_shortlist_is_read(await reads_of_memories(crowd, search_for(filters=filters)))


@pytest.mark.slow
@pytest.mark.parametrize("filters", IN_THE_INDEX.values(), ids=IN_THE_INDEX)
async def test_a_search_by_a_vector_reads_all_it_compares_from_the_covering_index(crowd, filters):
    space = EmbeddingSpace(key=1, dims=DIMS, calibration=StubEmbeddings.calibration, opened_at=DAY)
    vector = [1.0] + [0.0] * (DIMS - 1)
    nearest = build_nearest(USER_KEYS.of_user(PERSON), vector, space=space, limit=5, filters=filters)
    check_a_shortlist_is_read(await reads_of_memories(crowd, nearest))


@pytest.mark.slow
async def test_who_has_more_than_a_few_facts_is_known_after_as_many_of_them(crowd):
    filters = MemoryFilters(app_name="default", running_thread="thread 3")
    reads = await reads_of_memories(crowd, search_for(filters=filters, few=12))
    assert sorted(node["Actual Rows"] for node in reads)[-2:] == [13, MEMORIES]
    assert "Index Only Scan" in {node["Node Type"] for node in reads if node["Actual Rows"] == MEMORIES}


@pytest.mark.parametrize("filters", IN_THE_TABLE.values(), ids=IN_THE_TABLE)
async def test_a_search_with_any_filter_reads_one_persons_rows(crowd, filters):
    found = await reads_of_memories(crowd, search_for(filters=filters))
    assert max(node["Actual Rows"] + node.get("Rows Removed by Filter", 0) for node in found) == MEMORIES


@pytest.fixture(scope="module")
def archive(make_database, migrated_template) -> Iterator[str]:
    """Return a database with one person's 50,000 entries of 1,000 sessions, two for each request."""
    with make_database(template=migrated_template) as dsn:
        with psycopg.connect(dsn, autocommit=True) as connection:
            fill(connection, people=1, memories=50_000, dims=DIMS)
            connection.execute(AS_ENTRIES, {"threads": [digest(f"thread {n}") for n in range(1_001)]})
            connection.execute("VACUUM ANALYZE")
        yield dsn


AS_ENTRIES = """
UPDATE discreet.memory
SET type = 'reasoning', request_id = 'req ' || position / 2, position = NULL, thread_id = 'thread ' || position / 50,
    thread_key = (%(threads)s::uuid[])[position / 50 + 1]
"""


LISTED = {
    "all": (None, None, 50),
    "a request": (MemoryFilters(request_id="req 77"), None, 2),
    "a session": (MemoryFilters(thread_id="thread 900"), None, 50),
    "a page": (None, (datetime.now(UTC) - timedelta(days=20), uuid4()), 50),
    "a day": (MemoryFilters(after=datetime.now(UTC) - timedelta(days=9), before=datetime.now(UTC)), None, 50),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LISTED)
async def test_the_newest_entries_are_read_from_an_index_in_their_order(archive, name):
    filters, mark, expected = LISTED[name]
    [scan] = await reads_of_memories(
        archive, build_latest(USER_KEYS.of_user("p1"), limit=50, filters=filters, older_than=mark, held=False)
    )
    assert expected <= scan["Actual Rows"] <= expected + 1  # the next one tells where those of a moment end
    assert scan.get("Rows Removed by Filter", 0) <= 1_000


@pytest.mark.slow
async def test_entries_of_an_agent_are_read_from_one_persons_rows(crowd):
    """Of agents, and of how many rows a person has, the planner knows nothing."""
    filters = MemoryFilters(agent_id="agent 3")
    query = build_latest(USER_KEYS.of_user(PERSON), limit=50, filters=filters, older_than=None, held=False)
    found = await reads_of_memories(crowd, query)
    assert max(node["Actual Rows"] + node.get("Rows Removed by Filter", 0) for node in found) <= MEMORIES


async def search(storage):
    await storage.memories.search(PERSON, "text 500")


async def search_by_a_vector(storage):
    await storage.vectors.search(PERSON, [1.0] * DIMS)


async def save_a_fact(storage):
    await storage.memories.save(PERSON, [MemoryRecord(text=f"fact {uuid4().hex}")])


async def save_a_turn(storage):
    said = MemoryRecord(text=f"turn {uuid4().hex}", type="turn", thread_id="thread 5", position=5_000)
    await storage.memories.save(PERSON, [said])


async def save_and_delete(storage):
    [record] = await storage.memories.save(
        PERSON, [MemoryRecord(text="to be deleted", thread_id="thread 5", position=7_000)]
    )
    assert await storage.memories.delete(PERSON, record.entry_id)


async def log_a_turn(storage):
    turn = TurnRecord(
        request_id=uuid4().hex,
        user_id=PERSON,
        thread_id="thread 5",
        input_text="hello",
        output_text="hello",
        started_at=DAY,
        ended_at=DAY,
    )
    assert await storage.log.append(turn)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("do", "at_most"),
    [
        (search, MEMORIES + MOST + 50),
        (search_by_a_vector, MEMORIES + MOST + 50),
        (save_a_fact, 2 * MEMORIES + 200),
        (save_a_turn, 100),
        (save_and_delete, 2 * MEMORIES + 150),
        (log_a_turn, 50),
    ],
)
@pytest.mark.direct("prepared statements")
async def test_plans_made_on_an_empty_database_read_no_more_when_it_is_full(database, do, at_most):
    """Plans are generic and kept, so one made for no rows must do for many: nothing is analysed meanwhile."""
    alone = Settings(pool_size=1, reembed=False)  # nothing reads beside the call
    async with open_storage(database, settings=alone, embeddings=StubEmbeddings(DIMS)) as storage:
        for _ in range(2):
            await do(storage)
        with psycopg.connect(database, autocommit=True) as connection:
            fill(connection, people=10, memories=MEMORIES, dims=DIMS)
            connection.execute(FILL_LOG)
            connection.execute("SELECT pg_stat_force_next_flush()")  # or what filling read is counted after `before`
        before = await rows_read(storage)
        await do(storage)
        assert await rows_read(storage) - before <= at_most


async def rows_read(storage):
    """Return how many index entries and rows of ours all statements so far have read."""
    async with storage.pool.connection() as connection:
        await connection.execute("SELECT pg_stat_force_next_flush()")
        row = await (await connection.execute(READ)).fetchone()
    return row["rows"]
