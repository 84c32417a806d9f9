"""`discreet extract`, `discreet worker` and `discreet status` over a database."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from testkit.conversations import talk
from testkit.sessions import until
from typer.testing import CliRunner

from discreet.cli import app
from discreet.errors import ConfigurationError, InvalidUserError
from discreet.state.records import MemoryFilters
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

pytestmark = pytest.mark.slow

SAID = ("I keep two African Grey parrots.", "My daughter Lan starts school in September.", "Can you help me?")
PARROTS, LAN = "I keep two African Grey parrots", "My daughter Lan starts school in September"
FACTS = MemoryFilters(types=["user_fact", "preference", "event"])


@pytest.fixture
def command(database, tmp_path, monkeypatch):
    """Return what runs `discreet` over a database in which ann has talked an hour ago."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCREET_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("DISCREET_POSTGRES_DSN", database)
    monkeypatch.setenv("DISCREET_EMBEDDING_MODEL", "none")
    monkeypatch.setenv("COLUMNS", "120")
    asyncio.run(converse(database))

    def run(*arguments):
        result = CliRunner().invoke(app, arguments)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == 0
        return result.stdout

    return run


async def converse(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)) as storage:
        await talk(storage, *SAID)


def rows(database, query):
    with psycopg.connect(database) as connection:
        return connection.execute(query).fetchall()


def test_a_dry_run_shows_what_would_be_saved_and_stores_nothing(command, database):
    found = json.loads(command("extract", "--user", "ann", "--dry-run", "--json"))
    assert sorted((m["text"], m["verdict"]) for m in found["memories"]) == [(PARROTS, "new"), (LAN, "new")]
    assert found["memories"][0]["turns"] == ["thread-r0"]
    assert (found["turns"], found["failed"], found["dry_run"]) == (3, 0, True)
    for table in ("batch_requests", "batch_jobs", "memory"):
        assert rows(database, f"SELECT count(*) FROM discreet.{table}") == [(0,)]
    assert rows(database, "SELECT taken_rounds FROM discreet.session_record") == [(0,)]


def test_it_extracts_once_and_again_only_if_told(command):
    assert "nothing was stored" not in command("extract", "--user", "ann")
    assert json.loads(command("extract", "--user", "ann", "--json"))["turns"] == 0
    again = json.loads(command("extract", "--user", "ann", "--again", "--json"))
    assert again["turns"] == 3
    assert again["numbers"]["refused_known"] == 2


def test_the_table_shows_each_memory(command):
    shown = command("extract", "--user", "ann", "--dry-run")
    assert PARROTS in shown
    assert "user_fact" in shown
    assert "3 turns in 1 prompts" in shown


def test_from_a_day_on(command):
    assert json.loads(command("extract", "--user", "ann", "--since", "2100-01-01", "--json"))["turns"] == 0


def test_a_stranger_has_nothing(command):
    assert json.loads(command("extract", "--user", "bob", "--json"))["prompts"] == 0


def test_a_user_that_is_none_is_refused(command):
    with pytest.raises(InvalidUserError):
        command("extract", "--user", " ")


def test_a_model_without_a_key_is_refused_before_anything_is_taken(command, database):
    with pytest.raises(ConfigurationError):
        command("extract", "--user", "ann", "--model", "openai:gpt-4o-mini")
    assert rows(database, "SELECT count(*) FROM discreet.batch_requests") == [(0,)]


def test_a_worker_that_can_do_nothing_says_so(command, monkeypatch):
    monkeypatch.setenv("DISCREET_EXTRACTION_PROVIDER", "anthropic")
    result = CliRunner().invoke(app, ["worker", "--once"])
    assert result.exit_code == 1
    assert "ANTHROPIC_API_KEY" in result.stderr
    with pytest.raises(ConfigurationError, match="ANTHROPIC_API_KEY"):
        command("extract", "--user", "ann", "--dry-run")


def test_a_model_that_does_not_answer_is_told_by_its_error(command, monkeypatch):
    monkeypatch.setenv("DISCREET_EXTRACTION_PROVIDER", "google")
    monkeypatch.setenv("DISCREET_GOOGLE_API_KEY", "none")
    monkeypatch.setenv("DISCREET_GOOGLE_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("DISCREET_MODEL_RETRY_SECONDS", "0")
    result = CliRunner().invoke(app, ["extract", "--user", "ann", "--dry-run", "--json"])
    found = json.loads(result.stdout)
    assert (result.exit_code, found["failed"], len(found["causes"])) == (1, 1, 1)


def test_the_status_says_what_is_due_and_a_worker_does_it(command, database):
    before = json.loads(command("status", "--json"))
    assert (before["due"], before["workers"], before["enabled"]) == ({"inactivity": 1}, 0, True)
    assert "No worker runs" in command("status")
    done = json.loads(command("worker", "--once", "--json"))
    assert (done["fired"], done["batches"], done["pending"], done["submitted"]) == (1, 1, 0, 0)
    after = json.loads(command("status", "--json"))
    assert (after["due"], after["prompts"], after["batches"]) == ({}, {"applied": 2}, {"completed": 1})
    kept = rows(database, "SELECT text FROM discreet.memory WHERE type <> 'conversation_summary' ORDER BY text")
    assert kept == [(PARROTS,), (LAN,)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_works_until_it_is_told_to_stop(command, database, number):
    environment = {**os.environ, "DISCREET_POSTGRES_DSN": database}
    arguments = [str(Path(sys.executable).with_name("discreet")), "worker"]
    with subprocess.Popen(arguments, env=environment, stderr=subprocess.PIPE, text=True) as worker:
        try:
            condition = "EXISTS (SELECT FROM discreet.batch_jobs WHERE state = 'completed')"
            asyncio.run(until(database, condition))
            worker.send_signal(number)
            _, errors = worker.communicate(timeout=30)
        finally:
            worker.kill()
    assert worker.returncode == 0
    assert "worker.stopped" in errors
    assert "parrots" not in errors
    assert rows(database, "SELECT count(*) FROM discreet.worker") == [(0,)]
