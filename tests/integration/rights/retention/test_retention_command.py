"""`discreet retention` over a database."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from testkit.conversations import turn
from typer.testing import CliRunner

from discreet.cli import app
from discreet.storage import open_storage
from discreet.storage.retention import KINDS
from discreet.testing import StubEmbeddings

pytestmark = pytest.mark.slow


@pytest.fixture
def command(database, monkeypatch):
    """Return what runs `discreet` over a database in which one turn of two is too old."""
    monkeypatch.setenv("DISCREET_POSTGRES_DSN", database)
    monkeypatch.setenv("DISCREET_EMBEDDING_MODEL", "none")
    monkeypatch.setenv("DISCREET_RETENTION_TURN_DAYS", "365")
    monkeypatch.setenv("COLUMNS", "100")

    async def fill():
        async with open_storage(database, embeddings=StubEmbeddings(dims=16), maintained=False) as storage:
            await storage.memory_settings.change({"retention_log_days": 40}, by="u_admin")
            for days in (39, 41):
                await storage.log.append(turn(f"{days}", "Hello", at=datetime.now(UTC) - timedelta(days=days)))

    asyncio.run(fill())

    def run(*arguments):
        result = CliRunner().invoke(app, [*arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.stdout

    return run


def turns(database):
    with psycopg.connect(database) as connection:
        return [request_id for (request_id,) in connection.execute("SELECT request_id FROM discreet.conversation_log")]


def test_the_table_says_how_long_what_is_kept_and_who_says_so(command):
    rows = {row["kind"]: row for row in json.loads(command("retention", "show", "--json"))}
    assert list(rows) == [kind.name for kind in KINDS]
    assert (rows["log"]["kept"], rows["log"]["from"], rows["log"]["setting"]) == (
        "40 days",
        "database",
        "retention_log_days",
    )
    assert (rows["turns"]["kept"], rows["turns"]["from"]) == ("365 days", "environment")
    assert (rows["turns"]["variable"], rows["log"]["variable"]) == ("DISCREET_RETENTION_TURN_DAYS", None)
    assert (rows["threads"]["kept"], rows["threads"]["from"]) == ("until deleted", "default")
    assert (rows["audit"]["kept"], rows["audit"]["from"]) == ("1,095 days", "default")
    assert (rows["vault"]["kept"], rows["vault"]["from"]) == (None, "-")
    shown = command("retention")
    assert all(kind.name in shown for kind in KINDS)
    assert "40 days" in shown
    assert "DISCREET_RETENTION_TURN_DAYS" in shown


def test_a_dry_run_says_what_would_go_and_a_sweep_lets_it_go(command, database):
    told = json.loads(command("retention", "sweep", "--dry-run", "--json"))
    [due] = [row for row in told["kinds"] if row["rows"]]
    assert (told["dry_run"], due["kind"], due["rows"]) == (True, "log", 1)
    assert (datetime.now(UTC) - datetime.fromisoformat(due["oldest"])).days in {40, 41}
    assert "would go" in command("retention", "sweep", "--dry-run")
    assert sorted(turns(database)) == ["39", "41"]
    shown = command("retention", "sweep")
    assert "log" in shown
    assert turns(database) == ["39"]
    told = json.loads(command("retention", "sweep", "--json"))
    assert not told["dry_run"]
    assert not any(row["rows"] for row in told["kinds"])
    assert "Nothing is due." in command("retention", "sweep")


@pytest.mark.dialect
def test_a_worker_that_runs_once_sweeps_too(command, database):
    done = json.loads(command("worker", "--once", "--json"))
    assert done["swept"] == {"log": 1}
    assert turns(database) == ["39"]
