"""What is a table of its own goes by the time that its rows have: a second before nothing, a second after all of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from testkit.keys import USER_KEYS

from discreet.storage.database.expiry import BEGINNING, Expiry
from discreet.storage.retention import tables
from discreet.storage.retention.log import LOG
from discreet.storage.retention.memories import FIND, REASONING, TURNS

ANN = USER_KEYS.of_user("ann")
SECOND = timedelta(seconds=1)

INSERTS = {
    "history": """
        INSERT INTO discreet.short_term_session VALUES (%(ann)s, %(key)s, %(at)s, %(at)s, %(at)s, %(at)s, 0)
    """,
    "answers": """
        INSERT INTO discreet.short_term_work (user_key, work_key, claimed_at, token, expires_at, purge_at)
        VALUES (%(ann)s, %(key)s, %(at)s, %(key)s, %(at)s, %(at)s)
    """,
    "vault": "INSERT INTO discreet.vault_turn VALUES (%(key)s, %(at)s)",
    "prompts": """
        INSERT INTO discreet.batch_requests (
            user_key, request_key, kind, thread_key, thread_id, app_name, trigger, epoch, request_ids, state, created_at, due_at,
            done_at
        ) VALUES (%(ann)s, %(key)s, 'summary', %(key)s, 't', 'a', 'manual', 1, '{}', 'applied', '2020-01-01', '2020-01-01', %(at)s)
    """,
    "batches": """
        INSERT INTO discreet.batch_jobs (job_key, provider, model, state, created_at, due_at, done_at)
        VALUES (%(key)s, 'p', 'm', 'completed', '2020-01-01', '2020-01-01', %(at)s)
    """,
    "proposals": """
        INSERT INTO discreet.memory_proposal (user_key, proposal_key, created_at, request_ids, record)
        VALUES (%(ann)s, %(key)s, %(at)s, '{}', '-')
    """,
    "anonymous": "INSERT INTO discreet.users (user_key, expires_at) VALUES (%(key)s, %(at)s)",
    "receipts": """
        INSERT INTO discreet.erasure (erasure_key, user_key, scope, asked_at, done_at, lease_until)
        VALUES (%(key)s, %(ann)s, 'all', '2020-01-01', %(at)s, '2020-01-01')
    """,
}
DAYS = {"prompts": 30, "batches": 30, "proposals": 30, "receipts": 1_095}
"""For how long after that time; the others have in their rows when it is over."""


@pytest.fixture
def insert(database):
    """Return what makes a row of a kind that has a time."""

    def run(kind, at):
        with psycopg.connect(database) as connection:
            connection.execute("INSERT INTO discreet.users (user_key) VALUES (%s) ON CONFLICT DO NOTHING", (ANN,))
            connection.execute(INSERTS[kind], {"ann": ANN, "key": uuid4(), "at": at})

    return run


@pytest.mark.fast_cases(2)
@pytest.mark.dialect
@pytest.mark.parametrize("kind", INSERTS)
async def test_it_goes_when_its_time_is_over_and_not_before(storage, clock, insert, kind):
    kept = timedelta(days=DAYS.get(kind, 0))
    for after in (-timedelta(days=1), -SECOND, timedelta(0)):
        insert(kind, clock.now - kept - after)
    assert dict(await storage.retention.sweep()) == {}
    for after in (SECOND, timedelta(days=1)):
        insert(kind, clock.now - kept - after)
    [due] = [each for each in await storage.retention.due() if each.rows]
    assert (due.kind, due.rows, due.oldest) == (kind, 2, clock.now - kept - timedelta(days=1))
    assert dict(await storage.retention.sweep()) == {kind: 2}


@pytest.mark.dialect
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("prompts", "retention_batch_days"),
        ("batches", "retention_batch_days"),
        ("proposals", "retention_proposal_days"),
    ],
)
async def test_a_setting_holds_for_the_next_sweep(storage, clock, insert, kind, name):
    insert(kind, clock.ago(days=8))
    assert dict(await storage.retention.sweep()) == {}
    await storage.memory_settings.change({name: 7}, by="u_admin")
    assert dict(await storage.retention.sweep()) == {kind: 1}


@pytest.mark.slow
async def test_whatever_the_times_just_those_that_are_over_go(storage, clock, insert, rows):
    drawn = []

    @settings(max_examples=4, database=None)
    @given(
        st.lists(
            st.sampled_from([30, 1_095]).flatmap(lambda days: st.integers(-days * 86_400, 2 * days * 86_400)),
            min_size=1,
            max_size=12,
        )
    )
    def draw(seconds):
        drawn.append(seconds)

    draw()
    for number, ages in enumerate(drawn):
        storage.retention._batch = 1 + number
        for kind in INSERTS:
            for age in ages:
                insert(kind, clock.ago(seconds=age))
        gone = await storage.retention.sweep()
        for kind in INSERTS:
            assert gone.get(kind, 0) == sum(age > DAYS.get(kind, 0) * 86_400 for age in ages), kind
        for table in (
            "short_term_session",
            "short_term_work",
            "vault_turn",
            "batch_requests",
            "batch_jobs",
            "memory_proposal",
            "erasure",
        ):
            rows(f"DELETE FROM discreet.{table}")
        rows("DELETE FROM discreet.users WHERE expires_at IS NOT NULL")


@pytest.mark.dialect
async def test_a_prompt_that_waits_goes_with_the_turns_it_is_about(storage, clock, insert, rows):
    for days in (29, 31):
        insert("prompts", None)
        rows(
            "UPDATE discreet.batch_requests SET state = 'pending', created_at = %s WHERE state = 'applied'",
            clock.ago(days=days),
        )
    assert dict(await storage.retention.sweep()) == {"prompts": 1}
    assert rows("SELECT created_at FROM discreet.batch_requests") == [(clock.ago(days=29),)]


@pytest.mark.dialect
async def test_items_of_the_store_go_when_their_time_is_over(storage, clock, rows):
    for key in ("over", "not yet"):
        await storage.store.aput(("notes",), key, {"text": "two parrots"}, ttl=1)
    await storage.store.aput(("notes",), "for good", {"text": "three parrots"})
    ends = "UPDATE discreet.store_item SET expires_at = %s WHERE key = %s"
    rows(ends, clock.now - SECOND, "over")
    rows(ends, clock.now, "not yet")
    assert dict(await storage.retention.sweep()) == {"items": 1}
    assert sorted(rows("SELECT key FROM discreet.store_item")) == [("for good",), ("not yet",)]
    assert rows("SELECT count(*) FROM discreet.memory WHERE type = 'item'") == [(2,)]


async def test_who_speaks_without_a_user_id_is_kept_as_long_as_the_setting_says(storage, rows):
    from testkit.conversations import turn

    await storage.memory_settings.change({"retention_anonymous_days": 3}, by="u_admin")
    await storage.log.append(turn("r", "Hello", user=None))
    [(ends,)] = rows("SELECT expires_at FROM discreet.users")
    assert timedelta(days=2) < ends - datetime.now(UTC) <= timedelta(days=3)


async def test_sessions_live_as_long_as_the_settings_say(storage, rows):
    await storage.memory_settings.change({"retention_session_minutes": 7, "retention_history_hours": 2}, by="u_admin")
    await storage.short_term.touch("ann", "t")
    [lives] = rows("SELECT active_until - began_at, expires_at - began_at FROM discreet.short_term_session")
    assert lives == (timedelta(minutes=7), timedelta(hours=2))


LISTED = {name: each.select for name, each in vars(tables).items() if isinstance(each, Expiry)} | {
    "LOG": LOG.select,
    "TURNS": FIND.format(which=TURNS),
    "REASONING": FIND.format(which=REASONING),
}


@pytest.mark.one_server("reads a plan of its own server's catalogue")
def test_what_is_due_is_found_by_an_index(database):
    given = {"until": datetime.now(UTC) - timedelta(days=29), "after": BEGINNING, "batch": 100}
    with psycopg.connect(database, autocommit=True) as connection:
        for way in ("seqscan", "bitmapscan"):  # of tables without rows they would be the cheapest
            connection.execute(f"SET enable_{way} = off")
        for name, statement in LISTED.items():
            [[plan]] = connection.execute("EXPLAIN (FORMAT JSON) " + statement, given).fetchall()
            assert "Seq Scan" not in json.dumps(plan), (name, plan)
            assert '"Sort"' not in json.dumps(plan), (name, plan)
