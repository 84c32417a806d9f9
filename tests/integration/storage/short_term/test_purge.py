"""What has expired is deleted in batches, and what a statement reads does not grow with what others have."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime

import psycopg
import pytest
from testkit.keys import USER_KEYS

from discreet.ports import HISTORY_SECONDS, RollingSummary, Round, Started, Work
from discreet.settings import Settings
from discreet.storage import open_storage
from discreet.storage.database.expiry import BEGINNING, delete_expired
from discreet.storage.database.keys import digest
from discreet.storage.retention.tables import SESSIONS, WORKS
from discreet.storage.short_term.postgres_store import GRACE_SECONDS
from discreet.storage.short_term.sql import RECENT
from discreet.testing import StubEmbeddings

pytestmark = pytest.mark.parametrize("place", ["postgres"], indirect=True)

WORK = Work(kind="audio", user_id="ann", ref="0f")
FILL = """
WITH fill AS (
    INSERT INTO discreet.users (user_key) SELECT gen_random_uuid() FROM generate_series(1, 100) RETURNING user_key
), session AS (
    INSERT INTO discreet.short_term_session
    SELECT user_key, gen_random_uuid(), now(), now() + interval '5 minutes', now() + interval '1 day',
           now() + n * interval '1 minute', 5
    FROM fill JOIN LATERAL generate_series(1, 100) n ON true
    RETURNING user_key, thread_key, began_at
), work AS (
    INSERT INTO discreet.short_term_work
    SELECT user_key, gen_random_uuid(), now(), gen_random_uuid(), NULL, NULL, now() + interval '3 minutes',
           now() + n * interval '1 minute'
    FROM fill, generate_series(1, 500) n
), summary AS (
    INSERT INTO discreet.rolling_summary
    SELECT user_key, gen_random_uuid(), 'thread ' || n, 'text', NULL, 5, 'a-5', now() FROM fill, generate_series(1, 200) n
)
INSERT INTO discreet.short_term_round (
    user_key, thread_key, began_at, request_key, round_number, request_id, input_text, output_text, said_at, is_emergency
)
SELECT user_key, thread_key, began_at, gen_random_uuid(), n, 'r', 'hi', 'hello', now(), false
FROM session, generate_series(1, 5) n
"""
ROWS_READ = """
SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = 'discreet')
     + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = 'discreet') AS rows
"""


def said(request_id):
    return Round(request_id=request_id, input_text="hi", output_text="hello", said_at=datetime.now(UTC))


async def purge_short_term(pool, batch=1_000):
    now = datetime.now(UTC)
    return sum(
        [gone for table in (SESSIONS, WORKS) async for gone in delete_expired(pool, table, until=now, batch=batch)]
    )


def counts(dsn):
    tables = ("short_term_session", "short_term_round", "short_term_work")
    with psycopg.connect(dsn) as connection:
        return [connection.execute(f"SELECT count(*) FROM discreet.{table}").fetchone()[0] for table in tables]


async def test_what_expired_goes_and_the_rest_stays(place, kept):
    pool = kept.works_pool
    for number in range(5):
        await kept.store.append_round("ann", f"{number}", said("r"))
        await kept.store.claim(Work(kind="request", user_id="ann", ref=f"{number}"), lease=3.0)
    kept.advance(HISTORY_SECONDS + 601)
    await kept.store.append_round("ann", "live", said("r"))
    await kept.store.claim(WORK, lease=180.0)
    assert counts(place.dsn) == [6, 6, 6]
    assert await purge_short_term(pool, batch=2) == 10
    assert counts(place.dsn) == [1, 1, 1]
    assert await purge_short_term(pool) == 0


async def test_a_late_holder_may_finish_until_its_grace_ends(kept):
    claim = await kept.store.claim(WORK, lease=180.0)
    kept.advance(180 + GRACE_SECONDS - 20)
    assert await purge_short_term(kept.works_pool) == 0
    assert await kept.store.finish(WORK, claim.token, "answer", keep=60.0)
    kept.advance(61)
    assert await purge_short_term(kept.works_pool) == 1


async def test_two_that_purge_at_once_delete_everything_once(place, kept):
    for number in range(40):
        await kept.store.touch("ann", f"{number}")
    kept.advance(HISTORY_SECONDS + 601)
    purged = await asyncio.gather(*(purge_short_term(kept.works_pool, batch=3) for _ in range(3)))
    assert await purge_short_term(kept.works_pool) + sum(purged) == 40
    assert counts(place.dsn) == [0, 0, 0]


@pytest.mark.slow
async def test_an_open_storage_purges_by_itself(place, kept):
    await kept.store.append_round("ann", "1", said("r"))
    kept.advance(HISTORY_SECONDS + 601)
    async with open_storage(place.dsn, embeddings=StubEmbeddings(dims=16)), asyncio.timeout(30):
        left = counts(place.dsn)
        while left != [0, 0, 0]:
            await asyncio.sleep(0.05)
            left = counts(place.dsn)


async def test_tables_of_short_term_memory_never_reach_the_write_ahead_log(place, kept):
    with psycopg.connect(place.dsn) as connection:
        logged = (
            "SELECT relname FROM pg_class WHERE relname LIKE 'short_term_%' AND relkind = 'r' AND relpersistence <> 'u'"
        )
        assert connection.execute(logged).fetchall() == []


@pytest.mark.slow
@pytest.mark.parametrize("statement", [SESSIONS.select, WORKS.select])
async def test_a_purge_finds_what_is_due_by_its_index(place, kept, statement):
    with psycopg.connect(place.dsn, autocommit=True) as connection:
        connection.execute(FILL)
        connection.execute("VACUUM ANALYZE")
        given = {"batch": 1_000, "until": datetime.now(UTC), "after": BEGINNING}
        [[plan]] = connection.execute("EXPLAIN (FORMAT JSON) " + statement, given).fetchall()
    assert "Seq Scan" not in json.dumps(plan)
    assert "_purge" in json.dumps(plan)


@pytest.mark.slow
@pytest.mark.one_server("reads a plan of its own server's catalogue")
async def test_last_rounds_are_read_from_the_end_of_their_index(place, kept):
    with psycopg.connect(place.dsn, autocommit=True) as connection:
        connection.execute(FILL)
    for number in range(300):
        await kept.store.append_round("ann", "1", said(f"r-{number}"))
    with psycopg.connect(place.dsn, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
    async with kept.pool.connection() as connection:
        given = {"user_key": USER_KEYS.of_user("ann"), "thread_key": digest("1"), "limit": 6}
        row = await (await connection.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + RECENT, given)).fetchone()
    [scan] = [node for node in nodes(row["QUERY PLAN"]) if node.get("Relation Name") == "short_term_round"]
    assert scan["Node Type"] == "Index Scan", json.dumps(row["QUERY PLAN"], indent=1)
    assert (scan["Index Name"], scan["Scan Direction"], scan["Actual Rows"]) == (
        "short_term_round_order",
        "Backward",
        6,
    )


def nodes(plan):
    if isinstance(plan, list):
        for item in plan:
            yield from nodes(item)
    elif isinstance(plan, dict):
        yield plan
        for value in plan.values():
            yield from nodes(value)


async def use_everything(storage, mark):
    store, summaries = storage.short_term, storage.summaries
    for request_id in ("r-1", "r-2"):
        await store.append_round("ann", "1", said(request_id + mark))
    await store.touch("ann", "1")
    await store.session_state("ann", "1")
    await store.recent_rounds("ann", "1")
    work = Work(kind="audio", user_id="ann", ref=mark)
    claim = await store.claim(work, lease=180.0)
    assert isinstance(claim, Started)
    await store.claim(work, lease=180.0)
    await store.finish(work, claim.token, "answer", keep=60.0)
    await store.claim(work, lease=180.0)
    await store.release(work, claim.token)
    before = await summaries.get("ann", mark)
    new = RollingSummary(text="text", rounds=5, last_message_id="a-5")
    await summaries.commit("ann", mark, expected=before, new=new)
    await summaries.commit("ann", mark, expected=new, new=RollingSummary(rounds=10, last_message_id="a-10"))
    await summaries.forget("ann", mark)
    await store.forget("ann", "1")
    await store.forget("ann")
    await purge_short_term(storage.works_pool)


@pytest.mark.slow
@pytest.mark.own_database("plans follow the statistics that earlier tests left")
@pytest.mark.direct("prepared statements")
async def test_plans_made_on_empty_tables_read_no_more_when_they_are_full(place):
    async with open_storage(place.dsn, settings=Settings(pool_size=1), embeddings=StubEmbeddings(dims=16)) as storage:
        for mark in ("a", "b"):
            await use_everything(storage, mark)
        with psycopg.connect(place.dsn, autocommit=True) as connection:
            connection.execute(FILL)
            connection.execute("SELECT pg_stat_force_next_flush()")  # or what filling read is counted after `before`
        before = await rows_read(storage)
        await use_everything(storage, "c")
        assert await rows_read(storage) - before < 200


async def rows_read(storage):
    async with storage.pool.connection() as connection:
        await connection.execute("SELECT pg_stat_force_next_flush()")
        row = await (await connection.execute(ROWS_READ)).fetchone()
    return row["rows"]
