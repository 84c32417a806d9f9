"""An import that is killed at any moment comes to the same in the end, gone on with or run again."""

from __future__ import annotations

import json
import time
from pathlib import Path

import psycopg
import pytest
from testkit.scripts import ScriptProcess

ROWS = 3_000

IMPORT = """
import sys
from discreet.cli import main
sys.argv = ["discreet", "import", *sys.argv[1:]]
main()
"""

_STATE = """
SELECT entry_id::text, text, created_at::text, importance, provenance ->> 'source', tags::text
FROM discreet.memory ORDER BY entry_id
"""
_COUNTS = "SELECT (SELECT sum(memories) FROM discreet.user_memories), (SELECT count(*) FROM discreet.memory)"


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Return what starts an import of `ROWS` rows of seven users into a database."""
    monkeypatch.setenv("DISCREET_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("DISCREET_EMBEDDING_MODEL", "none")
    path = tmp_path / "facts.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for n in range(ROWS):
            row = {"entry_id": f"f{n}", "user_id": f"user {n % 7}", "text": f"Fact {n}", "tags": ["a", "b"]}
            if n % 500 == 3:
                row["importance"] = 99
            file.write(json.dumps({**row, "created_at": f"2026-01-02T12:00:00.{n:06}Z"}) + "\n")

    def start(dsn, *options):
        return ScriptProcess(IMPORT, "jsonl", path, "--dsn", dsn, "--json", *options, cwd=tmp_path)

    return start


def state(dsn):
    with psycopg.connect(dsn) as connection:
        return connection.execute(_STATE).fetchall(), connection.execute(_COUNTS).fetchone()


def finished(process):
    assert process.wait(timeout=120) == 1
    return json.loads(process.stdout.read())


@pytest.mark.slow
@pytest.mark.parametrize("go_on", [["--resume"], []], ids=["resumed", "again"])
def test_a_killed_import_comes_to_the_same(command, go_on, tmp_path, make_database, migrated_template):
    with make_database(template=migrated_template) as whole, make_database(template=migrated_template) as broken:
        with command(whole) as process:
            assert finished(process)["new"] == {"conversation_insight": ROWS - 6}
        expected = state(whole)
        options: list[str] = []
        kills = 0
        for kept in (1, 900, 1_700):
            with command(broken, *options) as process:
                wait_for_rows(broken, kept, process)
                kills += process.poll() is None
                process.kill()
                process.wait()
            options = go_on
        assert kills > 0
        with command(broken, *options) as process:
            report = finished(process)
        assert state(broken) == expected
        bad = newest_bad(tmp_path)
        assert [int(json.loads(line)["mark"]) for line in bad.read_text().splitlines()] == list(range(4, ROWS, 500))
        assert report["bad"].popitem()[1] == 6
        assert not list(Path(tmp_path).rglob("imports/*"))


def newest_bad(folder):
    return max(folder.rglob("bad-rows/jsonl-*.jsonl"), key=lambda path: path.stat().st_mtime)


def wait_for_rows(dsn, count, process):
    """Wait until so many rows are there, or the import is through."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if connection.execute("SELECT count(*) FROM discreet.memory").fetchone()[0] >= count:
                return
            time.sleep(0.005)
