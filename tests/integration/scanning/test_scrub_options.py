"""Pruning, policies, the guard behind them, files, and rows that take no placeholder."""

from __future__ import annotations

import json
import sqlite3
from base64 import b64encode
from contextlib import closing

import psycopg
import pytest
from kit.places import files, rows, snapshot, sqlite_rows
from langchain_core.messages import HumanMessage
from psycopg.types.json import Jsonb
from testkit.planting.planting import plant_file
from testkit.planting.postgres import opened_saver, opened_shallow_saver, plant_shallow
from testkit.planting.registry import SCENARIOS, continue_thread
from testkit.planting.sessions import Session
from testkit.planting.sqlite import opened_sqlite_saver
from testkit.planting.turns import turn
from testkit.scanning import failures, left_in, scan, scrub, threads_of

from discreet.checkpoint import KEEP, CheckpointPolicy, RedactingSaver
from discreet.errors import ScanError
from discreet.redaction.placeholder_key import default_key
from discreet.scanning.messages import SENDS, SYSTEM, TOOL, TOOL_CALLS

MAIL = "ann@example.com"


def query(dsn, statement, params=()):
    with psycopg.connect(dsn) as connection:
        return connection.execute(statement, params).fetchall()


async def latest(dsn, thread):
    async with opened_saver(dsn, thread.saver) as saver:
        return (await Session(SCENARIOS[thread.graph].graph, saver, thread.thread_id).state()).values


@pytest.mark.slow
async def test_pruning_keeps_the_newest_state_of_each_thread(small_copy):
    dsn, entries = small_copy
    before = scan(dsn).usage
    would = scrub(dsn, dry_run=True, prune=True)
    report = scrub(dsn, prune=True)
    assert (would.pruned, would.unpruned_threads) == (report.pruned, report.unpruned_threads)
    assert report.unpruned_threads == sum(thread.graph == "deltas" for thread in threads_of(entries))
    after = scan(dsn).usage
    assert after.checkpoints == before.checkpoints - report.pruned
    assert after.threads == before.threads
    namespaces = "SELECT count(*), count(DISTINCT checkpoint_ns) FROM checkpoints WHERE thread_id = %s"
    for thread in threads_of(entries):
        ((checkpoints, kept),) = query(dsn, namespaces, [thread.thread_id])
        assert checkpoints == kept or thread.graph == "deltas", thread
    assert left_in(entries, rows(dsn)) == {}
    assert scrub(dsn, prune=True).changed == 0
    assert await failures(dsn, threads_of(entries)) == {}


@pytest.mark.slow
async def test_pruned_threads_go_on_with_a_redacting_saver(small_copy):
    dsn, entries = small_copy
    scrub(dsn, prune=True)
    assert await failures(dsn, threads_of(entries), ours=True) == {}


@pytest.mark.slow
@pytest.mark.dialect
async def test_what_a_policy_names_stays_and_the_rest_goes(small_copy):
    dsn, entries = small_copy
    policy = CheckpointPolicy(channels={"plan": KEEP, "decision": KEEP, "reports": KEEP})
    scrub(dsn, policy=policy)
    by_graph = {thread.graph: thread for thread in threads_of(entries)}
    values = await latest(dsn, by_graph["channels"])
    assert set(values) == {"messages", "plan"}
    assert set(await latest(dsn, by_graph["sends"])) == {"messages", "reports"}
    assert set(await latest(dsn, by_graph["resumed"])) == {"messages", "decision"}
    assert {channel for (channel,) in query(dsn, "SELECT DISTINCT channel FROM checkpoint_blobs WHERE type <> 'empty'")} <= {
        "messages", "plan", "reports", "__start__", "__previous__", "__end__", "__pregel_tasks",
    }  # fmt: skip
    metadata = query(dsn, "SELECT DISTINCT jsonb_object_keys(metadata) FROM checkpoints")
    assert {name for (name,) in metadata} <= {
        "source", "step", "parents", "run_id", "counters_since_delta_snapshot", "delta_writes_versioned",
    }  # fmt: skip
    assert left_in(entries, rows(dsn)) == {}
    # Theirs is a channel that no policy names, and that they can't do without.
    needs = {"pickled"}
    assert await failures(dsn, [thread for thread in threads_of(entries) if thread.graph not in needs]) == {}


@pytest.mark.slow
@pytest.mark.dialect
async def test_tables_of_threads_at_rest_take_the_guard(small_copy):
    dsn, entries = small_copy
    unfinished = [thread.thread_id for thread in threads_of(entries) if thread.state != "over"]
    with psycopg.connect(dsn) as connection:
        for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes"):
            connection.execute(f"DELETE FROM {table} WHERE thread_id = ANY(%s)", [unfinished])
    whole = "ALTER TABLE {0} VALIDATE CONSTRAINT {0}_guard"
    scrub(dsn, prune=True)
    async with opened_saver(dsn) as stock:
        saver = RedactingSaver(stock)
        await saver.setup(guard=True)
    for table in ("checkpoint_blobs", "checkpoint_writes"):
        with psycopg.connect(dsn) as connection:
            connection.execute(whole.format(table))
    kinds = scan(dsn, only=("checkpoint_blobs", "checkpoint_writes", "checkpoints")).kinds
    assert not {TOOL, TOOL_CALLS, SYSTEM, SENDS} & set(kinds)
    at_rest = [thread for thread in threads_of(entries) if thread.state == "over"]
    assert await failures(dsn, at_rest, ours=True) == {}


@pytest.mark.slow
async def test_an_agents_history_is_told_by_its_tables_after_a_scrub(small_copy):
    dsn, entries = small_copy
    scrub(dsn)
    (thread,) = [thread for thread in threads_of(entries) if thread.graph == "support"]
    async with opened_saver(dsn) as saver:
        session = Session(SCENARIOS["support"].graph, saver, thread.thread_id)
        first = await session.history()
        with turn():
            await session.run({"messages": [HumanMessage("And then?")]})
        later = await session.history()
        assert [state.config for state in later][-len(first) :] == [state.config for state in first]
        assert len(later) > len(first)
        old = first[-1].config if len(first) == 1 else first[len(first) // 2].config
        assert (await session.graph.aget_state(old)).config == old


@pytest.mark.slow
def test_digests_of_the_log_are_of_this_key(small, make_database, tmp_path, monkeypatch):
    dsn, _ = small
    logs = []
    for name in ("one", "two", "two"):
        key = b64encode((name.encode() * 32)[:32]).decode()
        monkeypatch.setenv("DISCREET_PLACEHOLDER_KEY", key)
        default_key.cache_clear()
        with make_database(template=psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]) as copied:
            scrub(copied, log=tmp_path / "log", only=("mem0",))
        logs.append([json.loads(line) for line in (tmp_path / "log").read_text().splitlines()])
        (tmp_path / "log").unlink()
    default_key.cache_clear()
    one, two, again = ([(line["row"], line["before"]) for line in log] for log in logs)
    assert two == again
    assert not {part for line in one for part in line} & {part for line in two for part in line}


@pytest.mark.slow
async def test_a_sqlite_file_is_scrubbed_and_goes_on(tmp_path):
    path = tmp_path / "agent.db"
    entries = await plant_file(path, threads=26, seed=6)
    would, report = scrub(path, dry_run=True), scrub(path, log=tmp_path / "log")
    assert would.changed == report.changed > 0
    assert left_in(entries, sqlite_rows(path)) == {}
    assert scrub(path).changed == 0
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    left = {shape for shape, _ in left_in(entries, files(tmp_path, [path]))}
    assert left <= {"thread_id", "store_key", "store_namespace"}
    async with opened_sqlite_saver(path) as saver:
        for thread in threads_of(entries):
            assert await continue_thread(thread.graph, saver, thread.thread_id) > 0, thread


def test_pruning_a_sqlite_file_is_refused_before_anything_is_changed(tmp_path):
    path = tmp_path / "agent.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        columns = "thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, checkpoint BLOB, metadata BLOB, type TEXT"
        connection.execute(
            f"CREATE TABLE checkpoints ({columns}, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id))"
        )
        connection.execute("INSERT INTO checkpoints VALUES ('a', '', '1', 'x', '{\"a\": \"ann@example.com\"}', 'json')")
    before = path.read_bytes()
    with pytest.raises(ScanError, match="PostgreSQL"):
        scrub(path, prune=True)
    assert path.read_bytes() == before


@pytest.mark.slow
@pytest.mark.dialect
async def test_tables_of_a_shallow_saver_are_scrubbed_and_go_on(empty_database):
    entries = await plant_shallow(empty_database, range(24), seed=6)
    scrub(empty_database)
    assert left_in(entries, rows(empty_database)) == {}
    assert scrub(empty_database).changed == 0
    with opened_shallow_saver(empty_database) as saver:
        for thread in threads_of(entries):
            assert await continue_thread(thread.graph, saver, thread.thread_id) > 0, thread


def test_rows_that_take_no_placeholder_stay_and_are_counted(empty_database, tmp_path):
    with psycopg.connect(empty_database) as connection:
        connection.execute(
            "CREATE TABLE people (id int PRIMARY KEY, mail text, shout text GENERATED ALWAYS AS (upper(mail)) STORED,"
            " short varchar(15), data json CHECK (data ->> 'keep' NOT LIKE '<%'))"
        )
        person = "INSERT INTO people (id, mail, short, data) VALUES (%s, %s, %s, %s)"
        connection.execute(person, [1, MAIL, None, None])
        connection.execute(person, [2, None, MAIL, None])
        connection.execute(person, [3, None, None, Jsonb({"keep": MAIL})])
        connection.execute(person, [4, None, None, Jsonb({"text": MAIL})])
    report = scrub(empty_database, every=True, log=tmp_path / "log")
    (table,) = report.tables
    assert (table.changed, table.refused) == (3, 1)
    rows = query(empty_database, "SELECT mail, shout, short, data::text FROM people ORDER BY id")
    assert rows[0][0].startswith("<EMAIL")
    assert rows[0][1] == rows[0][0]
    assert (rows[1][2], MAIL in rows[2][3]) == ("<EMAIL>", True)  # without its tag it fits
    assert "<EMAIL" in rows[3][3]
    assert len((tmp_path / "log").read_text().splitlines()) == 3


@pytest.mark.slow
def test_tables_of_discreet_stay_as_they_are(database):
    before = snapshot(database)
    assert scrub(database).tables == []
    assert snapshot(database) == before
