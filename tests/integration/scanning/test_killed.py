"""A scan or scrub that is killed at any moment comes to the same in the end, gone on with or run again."""

from __future__ import annotations

import json
import time

import psycopg
import pytest
from kit.places import rows
from testkit.scanning import failures, left_in, scan, scrub, threads_of
from testkit.scripts import ScriptProcess

pytestmark = pytest.mark.slow

SCRIPT = """
import sys, time
from discreet.cli import main
from discreet.scanning import scanner
from discreet.scanning.databases import postgres

pause = float(sys.argv.pop(1))
page = postgres.PostgresDatabase.page

def slowly(*args, **options):
    time.sleep(pause)
    return page(*args, **options)

scanner.SAVE_SECONDS = 0.0
postgres.PAGE_ROWS = 20
postgres.PostgresDatabase.page = slowly
sys.argv[0] = "discreet"
main()
"""
"""Pages are small, with a pause before each, so that there is a moment to be killed at; each is remembered."""


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Return what starts a command that pauses so many seconds before each page."""
    monkeypatch.setenv("DISCREET_DATA_DIR", str(tmp_path / "data"))

    def start(pause, *arguments):
        return ScriptProcess(SCRIPT, pause, *arguments, cwd=tmp_path)

    return start


def progress_of(tmp_path, work):
    return list((tmp_path / "data" / "scans").glob(f"{work}-*.json"))


def wait_for(condition, process):
    """Wait until it is so, or the process has ended."""
    deadline = time.monotonic() + 60
    while not condition() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)


def finished(process, code=0):
    output = process.stdout.read()
    assert process.wait(timeout=120) == code, process.stderr.read()
    return json.loads(output)


def counted(report):
    """Return what a report says of rows, and nothing of times and sizes on disk."""
    tables = {
        table["table"]: {name: value for name, value in table.items() if name != "bytes"} for table in report["tables"]
    }
    return tables, report["usage"], report["errors"]


@pytest.mark.parametrize("saves", [1, 3, 9])
def test_a_scan_that_was_killed_goes_on(command, small, tmp_path, saves):
    dsn, _ = small
    with command(0, "scan", dsn, "--json") as process:
        expected = finished(process)
    seen = set()

    def many_saves():
        seen.update(file.stat().st_mtime_ns for file in progress_of(tmp_path, "scan"))
        return len(seen) >= saves

    with command(0.02, "scan", dsn, "--json") as process:
        wait_for(many_saves, process)
        assert process.poll() is None
        process.kill()
        process.wait()
    (kept,) = progress_of(tmp_path, "scan")
    assert kept.stat().st_mode & 0o777 == 0o600
    with command(0, "scan", dsn, "--json", "--resume") as process:
        assert counted(finished(process)) == counted(expected)
    assert progress_of(tmp_path, "scan") == []


def test_a_scan_that_was_killed_may_begin_anew(command, small, tmp_path):
    dsn, _ = small
    with command(0.02, "scan", dsn, "--json") as process:
        wait_for(lambda: progress_of(tmp_path, "scan"), process)
        process.kill()
        process.wait()
    assert progress_of(tmp_path, "scan")
    with command(0, "scan", dsn, "--json", "--resume", "--sample", "50%") as other:
        assert finished(other)["sample"] == 0.5  # of other options nothing is gone on with
    with command(0, "scan", dsn, "--json") as process:
        again = finished(process)
    with command(0, "scan", dsn, "--json") as process:
        assert counted(finished(process)) == counted(again)


@pytest.mark.parametrize("go_on", [["--resume"], []], ids=["resumed", "again"])
@pytest.mark.parametrize("options", [[], ["--prune"]], ids=["kept", "pruned"])
async def test_a_scrub_that_was_killed_comes_to_the_same(command, small_copy, tmp_path, go_on, options):
    dsn, entries = small_copy
    log = tmp_path / "changes.jsonl"
    scrubbing = ["scrub", dsn, "--yes", "--json", "--log", log, *options]
    kills = 0
    for lines in (1, 60, 150):
        with command(0.01, *scrubbing, *(go_on if kills else [])) as process:
            wait_for(lambda lines=lines: log.exists() and len(log.read_bytes().splitlines()) >= lines, process)
            kills += process.poll() is None
            process.kill()
            process.wait()
    assert kills > 0
    with command(0, *scrubbing, *go_on) as process:
        report = finished(process)
    assert report["left"]["tables"]
    assert scan(dsn).types == {}
    assert left_in(entries, rows(dsn)) == {}
    assert scrub(dsn, prune=bool(options)).changed == 0
    assert progress_of(tmp_path, "scrub") == []
    with psycopg.connect(dsn) as connection:
        assert connection.execute("SELECT count(DISTINCT thread_id) FROM checkpoints").fetchone()[0] == len(
            threads_of(entries)
        )
    assert await failures(dsn, threads_of(entries)) == {}
