"""After a scrub nothing planted is left, in rows and in files, and every thread loads and goes on."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import psycopg
import pytest
from kit.places import files, rows, snapshot
from kit.search import Words, search
from testkit.planting.postgres import opened_saver
from testkit.planting.registry import SCENARIOS
from testkit.planting.sessions import Session
from testkit.scanning import IN_IDS, failures, leaks, left_in, scan, scrub, threads_of, values_of

from discreet.scanning import open_database
from discreet.scanning.messages import ARTIFACTS, REASONING, RESPONSE_METADATA, RUNNABLE_PICKLES
from discreet.scanning.scrubbing import advice

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def scrubbed(small, make_database, apart):
    """Return a scrubbed database, what was in it, the reports of a dry run and of the real one, and the log.

    Its threads may go on; what tests want of the rows as they are is in `rows`.
    """
    dsn, entries = small
    with make_database(template=psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]) as copied:
        with psycopg.connect(copied, autocommit=True) as connection:
            connection.execute("ANALYZE")  # as autovacuum does: statistics of the planner hold values too
        before = snapshot(copied)
        would = scrub(copied, dry_run=True)
        assert snapshot(copied) == before
        report = scrub(copied, log=apart / "changes.jsonl")
        yield copied, entries, would, report


def told(report):
    return report.model_dump(exclude={"dry_run", "started_at", "finished_at"})


def test_a_dry_run_tells_what_the_real_one_does(scrubbed):
    _, entries, would, report = scrubbed
    assert told(would) == told(report)
    assert would.dry_run
    assert report.threads == len(threads_of(entries))
    assert report.changed > 100
    assert sum(table.refused + table.changed_meanwhile for table in report.tables) == 0


@pytest.mark.dialect
def test_no_value_is_left_in_rows(scrubbed):
    dsn, entries, _, _ = scrubbed
    assert left_in(entries, rows(dsn)) == {}
    report = scan(dsn)
    assert report.types == {}
    assert not {ARTIFACTS, REASONING, RESPONSE_METADATA, RUNNABLE_PICKLES} & set(report.kinds)


def test_another_scrub_changes_nothing(scrubbed):
    dsn, _, _, _ = scrubbed
    before = snapshot(dsn)
    assert scrub(dsn).changed == 0
    assert snapshot(dsn) == before


def test_the_log_has_digests_alone(scrubbed, apart):
    _, entries, _, report = scrubbed
    text = (apart / "changes.jsonl").read_text()
    assert leaks(text, entries) == []
    lines = [json.loads(line) for line in text.splitlines()]
    rows = {what: Counter(line["table"] for line in lines if line["what"] == what) for what in ("changed", "deleted")}
    assert rows["deleted"] == Counter({table.table: table.deleted for table in report.tables if table.deleted})
    changed = {(line["table"], line["row"]) for line in lines if line["what"] == "changed"}
    assert Counter(table for table, _ in changed) == Counter(
        {table.table: table.changed for table in report.tables if table.changed}
    )
    assert len({(line["table"], line["row"], line.get("column")) for line in lines}) == len(lines)
    assert all(line["before"] != line["after"] for line in lines if line["what"] == "changed")


@pytest.mark.dialect
def test_no_value_is_left_in_files_when_the_advice_was_taken(scrubbed, apart):
    dsn, entries, _, report = scrubbed
    database = open_database(dsn)
    statements = advice(database, {table.table for table in report.tables if table.changed + table.deleted})
    database.close()
    with psycopg.connect(dsn, autocommit=True) as connection:
        assert statements
        for each in statements:
            connection.execute(each.statement)
        connection.execute("VACUUM")
        connection.execute("CHECKPOINT")
        folder, oid = connection.execute(
            "SELECT current_setting('data_directory'), oid FROM pg_database WHERE datname = current_database()"
        ).fetchone()
    values = {str(number): entry.value for number, entry in enumerate(values_of(entries)) if entry.shape not in IN_IDS}
    searched = search(files(Path(folder) / "base" / str(oid)), Words(values=values, control="checkpoint_blobs_pkey"))
    assert searched.leaks.keys() == {"control"}


@pytest.mark.dialect
async def test_every_thread_lists_its_history_and_goes_on_with_the_stock_saver(scrubbed, make_database):
    dsn, entries, _, _ = scrubbed
    with make_database(template=psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]) as copied:
        async with opened_saver(copied) as saver:
            for thread in threads_of(entries):
                if thread.saver == "postgres":
                    session = Session(SCENARIOS[thread.graph].graph, saver, thread.thread_id)
                    states = await session.history()
                    assert states[0].config == (await session.state()).config
        assert await failures(copied, threads_of(entries)) == {}


async def test_every_thread_goes_on_with_a_redacting_saver(scrubbed, make_database):
    dsn, entries, _, _ = scrubbed
    with make_database(template=psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]) as copied:
        assert await failures(copied, threads_of(entries), ours=True) == {}
