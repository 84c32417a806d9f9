"""`discreet scan` and `discreet scrub`: what they print, which files they leave, and how they end."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from kit.places import rows, snapshot
from testkit.planting.hostile import plant_hostile
from testkit.scanning import leaks, left_in
from testkit.scripts import run_script

pytestmark = pytest.mark.slow

DISCREET = """
import sys
from discreet.cli import main
sys.argv[0] = "discreet"
sys.path.insert(0, "")  # as PYTHONPATH=. does
main()
"""


@pytest.fixture
def discreet(tmp_path, monkeypatch):
    """Return what runs a command in a process of its own, with pipes for all its streams."""
    monkeypatch.setenv("DISCREET_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "120")

    def run(*arguments, **options):
        return run_script(DISCREET, *arguments, cwd=tmp_path, **options)

    return run


def modes(folder):
    return {file.name: oct(file.stat().st_mode & 0o777) for file in folder.rglob("*") if file.is_file()}


def test_json_is_one_document(discreet, small):
    dsn, entries = small
    result = discreet("scan", dsn, "--json")
    assert (result.returncode, result.stderr) == (0, "")
    report = json.loads(result.stdout)
    assert (report["format"], report["version"]) == ("discreet.scan", 1)
    assert leaks(result.stdout, entries) == []


def test_tables_and_a_page_say_what_is_there_and_no_value(discreet, small, tmp_path):
    dsn, entries = small
    result = discreet("scan", dsn, "--html", "report.html")
    assert (result.returncode, result.stderr) == (0, "")
    page = (tmp_path / "report.html").read_text()
    assert page.lower().startswith("<!doctype html>")
    assert "Next: discreet scrub --dry-run" in result.stdout
    for text in (result.stdout, page):
        assert "checkpoint_blobs" in text
        assert leaks(text, entries) == []
    names = "".join(str(path) for path in (tmp_path / "data").rglob("*"))
    assert leaks(names, entries) == []


@pytest.mark.parametrize(
    ("conditions", "code"),
    [
        (["any"], 1),
        (["SECRET"], 1),
        (["secret"], 1),
        (["tool results"], 1),
        (["unreadable"], 0),
        (["PERSON"], 0),
        (["PERSON,EMAIL"], 1),
        (["PERSON", "URL"], 1),
        (["pickles that would run code"], 0),
        ([], 0),
    ],
)
def test_it_fails_on_what_is_named(discreet, small, conditions, code):
    options = [part for condition in conditions for part in ("--fail-on", condition)]
    assert discreet("scan", small[0], "--json", *options).returncode == code


def test_it_fails_on_what_can_not_be_read(discreet, small_copy, tmp_path):
    dsn, _ = small_copy
    with psycopg.connect(dsn) as connection:
        plant_hostile(connection, tmp_path / "ran")
    for condition in ("unreadable", "pickles that would run code"):
        assert discreet("scan", dsn, "--json", "--fail-on", condition).returncode == 1
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("command", [["scan"], ["scrub", "--yes"], ["scrub", "--dry-run"]], ids=" ".join)
def test_a_server_that_is_not_there_costs_one_line_without_its_password(discreet, command):
    password = "of" + "-a-test"
    result = discreet(*command, f"postgresql://someone:{password}@127.0.0.1:1/agents")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("discreet: The database can't be reached.")
    assert result.stderr.count("\n") == 1
    assert password not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["none.db"], "neither a DSN"),
        (["--sample", "0"], "--sample is a part"),
        (["--sample", "most"], "--sample is a part"),
    ],
)
def test_what_can_not_be_scanned_is_told(discreet, arguments, told):
    result = discreet("scan", *arguments)
    assert result.returncode == 2
    assert told in result.stderr


def test_a_page_that_can_not_be_written_is_told(discreet, small):
    result = discreet("scan", small[0], "--html", "none/report.html")
    assert result.returncode == 2
    assert "none/report.html can't be written" in result.stderr


def test_the_database_of_the_settings_is_the_default(discreet, small, monkeypatch):
    monkeypatch.setenv("DISCREET_POSTGRES_DSN", small[0])
    report = json.loads(discreet("scan", "--json").stdout)
    assert report["database"].endswith(urlsplit(small[0]).path)


def test_a_scrub_without_yes_changes_nothing_where_nobody_can_be_asked(discreet, small_copy):
    dsn, entries = small_copy
    before = snapshot(dsn)
    result = discreet("scrub", dsn, input="y\n")
    assert result.returncode == 1
    assert "--yes" in result.stderr
    assert "would change" in result.stdout
    assert leaks(result.stdout + result.stderr, entries) == []
    assert snapshot(dsn) == before


def test_a_dry_run_changes_nothing_and_leaves_no_log(discreet, small_copy, tmp_path):
    dsn, _ = small_copy
    before = snapshot(dsn)
    result = discreet("scrub", dsn, "--dry-run", "--json")
    report = json.loads(result.stdout)
    assert (result.returncode, report["dry_run"], report["format"]) == (0, True, "discreet.scrub")
    assert snapshot(dsn) == before
    assert not list(tmp_path.rglob("*.jsonl"))


def test_a_scrub_tells_what_it_did_and_what_is_next(discreet, small_copy, tmp_path):
    dsn, entries = small_copy
    result = discreet("scrub", dsn, "--yes")
    assert (result.returncode, result.stderr) == (0, "")
    assert "A second scan found no sensitive value." in result.stdout
    assert 'VACUUM (FULL, ANALYZE) "public"."checkpoint_blobs"' in result.stdout
    assert leaks(result.stdout, entries) == []
    (log,) = (tmp_path / "data" / "scans").glob("scrub-*.jsonl")
    assert leaks(log.read_text(), entries) == []
    assert set(modes(tmp_path / "data").values()) == {"0o600"}
    assert left_in(entries, rows(dsn)) == {}
    assert json.loads(discreet("scan", dsn, "--json", "--fail-on", "SECRET").stdout)["errors"] == []


def test_a_log_may_be_elsewhere_and_is_added_to(discreet, small_copy, tmp_path):
    dsn, _ = small_copy
    log = tmp_path / "changes.jsonl"
    first = json.loads(discreet("scrub", dsn, "--yes", "--json", "--table", "mem0", "--log", log).stdout)
    lines = len(log.read_text().splitlines())
    assert lines >= first["tables"][0]["changed"] > 0
    discreet("scrub", dsn, "--yes", "--json", "--table", "store", "--log", log)
    assert len(log.read_text().splitlines()) > lines
    assert log.stat().st_mode & 0o777 == 0o600
    assert not list((tmp_path / "data").rglob("*.jsonl"))


def test_a_log_that_can_not_be_written_leaves_the_rows_as_they_are(discreet, small_copy, tmp_path):
    dsn, entries = small_copy
    before = snapshot(dsn)
    result = discreet("scrub", dsn, "--yes", "--log", tmp_path / "none" / "log")
    assert result.returncode == 2
    assert "--log" in result.stderr
    assert leaks(result.stderr, entries) == []
    assert snapshot(dsn) == before


def test_what_is_left_is_told_by_the_exit_code(discreet, empty_database):
    with psycopg.connect(empty_database) as connection:
        connection.execute(
            "CREATE TABLE store (prefix text, key text, value jsonb, short text CHECK (short LIKE '%@%'))"
        )
        connection.execute("INSERT INTO store VALUES ('a', 'b', '{}', 'ann@example.com')")
    result = discreet("scrub", empty_database, "--yes")
    assert result.returncode == 1
    assert "Still there: 1 EMAIL" in result.stdout
    assert "1 rows of store stay" in result.stdout


@pytest.mark.parametrize(
    ("name", "told"), [("POLICY", None), ("NO_POLICY", "is no CheckpointPolicy"), ("NONE", "NONE")]
)
def test_a_policy_is_named_as_module_and_name(discreet, small_copy, tmp_path, name, told):
    dsn, _ = small_copy
    (tmp_path / "own_policies.py").write_text(
        "from discreet.checkpoint import CheckpointPolicy\nPOLICY = CheckpointPolicy()\nNO_POLICY = object()\n"
    )
    result = discreet("scrub", dsn, "--yes", "--json", "--policy", f"own_policies:{name}")
    if told is None:
        assert result.returncode == 0, result.stderr
        channels = "SELECT count(*) FROM checkpoint_blobs WHERE channel = 'plan' AND blob IS NOT NULL"
        with psycopg.connect(dsn) as connection:
            assert connection.execute(channels).fetchone() == (0,)
    else:
        assert result.returncode == 2
        assert told in result.stderr


def test_files_of_langgraph_dev_are_not_rewritten(discreet, tmp_path):
    (tmp_path / ".langgraph_api").mkdir()
    Path(tmp_path, ".langgraph_api", "store.pckl").write_bytes(b"\x80\x04N.")
    result = discreet("scrub", ".langgraph_api", "--yes")
    assert result.returncode == 2
    assert "delete the folder" in result.stderr
