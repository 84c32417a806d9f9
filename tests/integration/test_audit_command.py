"""`discreet audit` over a database."""

from __future__ import annotations

import base64
import json

import psycopg
import pytest
from typer.testing import CliRunner

from discreet.access.identity import is_identity, load_identities
from discreet.access.user_keys import load_user_keys
from discreet.cli import app
from discreet.errors import AuditAnchorError, ConfigurationError, StorageError
from discreet.settings import load_settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings


@pytest.fixture
def command(database, tmp_path, monkeypatch):
    """Return what runs `discreet` over a database without rows, as the person ann."""
    monkeypatch.setenv("DISCREET_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("DISCREET_POSTGRES_DSN", database)
    monkeypatch.setenv("LOGNAME", "ann.lindqvist")
    monkeypatch.setenv("COLUMNS", "120")

    def run(*arguments):
        result = CliRunner().invoke(app, arguments)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture
def tamper(database):
    """Return what does what somebody with all rights can."""

    def run(statement, *parameters):
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("SET session_replication_role = replica")
            connection.execute(statement, parameters)

    return run


@pytest.fixture
async def spoken(database):
    """Have two people something in the trail."""
    async with open_storage(database, embeddings=StubEmbeddings(dims=64), maintained=False) as storage:
        for user in ("bob", load_identities(load_settings()).of("cyd@example.com")):
            for n in range(2):
                await storage.memories.save(user, [MemoryRecord(text=f"Fact {n} of parrots")])


def key_of(user):
    return load_user_keys(load_settings()).of_user(user)


@pytest.mark.slow
def test_a_trail_that_nobody_touched(command, spoken):
    result = command("audit", "verify")
    assert result.exit_code == 0
    assert "4 entries in 2 chains, 0 seals." in result.stdout
    assert "All is as it was written.\n2 chains have entries that no seal covers yet." in result.stdout
    told = json.loads(command("audit", "verify", "--user", "bob", "--json").stdout)
    assert (told["sound"], told["entries"], told["findings"]) == (True, 2, [])


@pytest.mark.slow
def test_what_was_done_to_it_is_told_with_its_place(command, spoken, tamper):
    tamper("UPDATE discreet.audit_entry SET action = 'memory.read' WHERE user_key = %s AND number = 2", key_of("bob"))
    result = command("audit", "verify")
    assert result.exit_code == 1
    assert str(key_of("bob")) in result.stdout
    assert "1 findings." in result.stdout
    told = json.loads(command("audit", "verify", "--json").stdout)
    assert (told["sound"], told["found"]) == (False, 1)
    assert told["findings"][0]["user_key"] == str(key_of("bob"))
    assert told["findings"][0]["number"] == 2
    assert command("audit", "verify", "--user", "cyd@example.com", "--subject").exit_code == 0
    assert command("audit", "verify", "--user-key", str(key_of("bob"))).exit_code == 1


@pytest.mark.slow
def test_a_head_with_the_last_number_that_there_is_is_a_finding_and_hides_no_other(command, spoken, tamper):
    tamper("UPDATE discreet.audit_chain SET last_number = 9223372036854775807 WHERE user_key = %s", key_of("bob"))
    tamper("UPDATE discreet.audit_entry SET action = 'memory.read' WHERE user_key <> %s AND number = 2", key_of("bob"))
    result = command("audit", "verify", "--json")
    told = json.loads(result.stdout)
    assert (result.exit_code, told["found"]) == (1, 2)
    assert {(found["kind"], found["number"]) for found in told["findings"]} == {("end", 2), ("entry", 2)}
    assert "by the head of the chain it is 9223372036854775807" in " ".join(command("audit", "verify").stdout.split())


@pytest.mark.slow
def test_entries_are_printed_as_lines_of_json(command, spoken):
    command("settings", "set", "memory_retrieve_limit", "9")
    rows = [json.loads(line) for line in command("audit", "export").stdout.splitlines()]
    assert len(rows) == 5
    assert rows[0]["action"] == "setting.change"
    assert rows[0]["actor_kind"] == "operator"
    assert is_identity(rows[0]["actor"])
    assert "lindqvist" not in json.dumps(rows)
    mine = [json.loads(line) for line in command("audit", "export", "--user", "bob").stdout.splitlines()]
    assert {row["user_key"] for row in mine} == {str(key_of("bob"))}
    assert mine[0]["counts"] == {"memories": 1}
    assert not command("audit", "export", "--until", "2020-01-01").stdout
    assert len(command("audit", "export", "--since", "2020-01-01").stdout.splitlines()) == 5


@pytest.mark.slow
def test_a_seal_is_kept_elsewhere_and_shows_that_the_trail_was_put_back(command, database, spoken, tamper, tmp_path):
    path = tmp_path / "anchors"
    with psycopg.connect(database) as connection:
        [mark] = connection.execute("SELECT seal_number, seal_hash, hash FROM discreet.audit_mark").fetchall()
    assert "is anchored" in command("audit", "anchor", "--file", str(path)).stdout
    assert command("audit", "verify", "--anchor", str(path)).exit_code == 0
    for table in ("audit_entry", "audit_chain", "audit_seal", "audit_sealed_head"):
        tamper(f"DELETE FROM discreet.{table}")
    result = command("audit", "verify")
    assert result.exit_code == 1
    assert "By the mark this seal is the last. It is missing." in " ".join(result.stdout.split())
    tamper("UPDATE discreet.audit_mark SET seal_number = %s, seal_hash = %s, hash = %s", *mark)
    assert command("audit", "verify").exit_code == 0
    result = command("audit", "verify", "--anchor", str(path))
    assert result.exit_code == 1
    assert "The seal was anchored and is missing" in result.stdout


@pytest.mark.slow
def test_the_settings_say_where_seals_are_kept(command, spoken, monkeypatch, tmp_path):
    with pytest.raises(AuditAnchorError, match="--file"):
        command("audit", "anchor")
    monkeypatch.setenv("DISCREET_AUDIT_ANCHOR_FILE", str(tmp_path / "anchors"))
    told = json.loads(command("audit", "anchor", "--json").stdout)
    assert json.loads((tmp_path / "anchors").read_text()) == told
    assert (told["seal"], told["heads"]) == (1, 2)


@pytest.mark.slow
def test_entries_that_nothing_seals_are_a_finding_that_says_what_to_start(command, spoken, tamper, monkeypatch):
    tamper("UPDATE discreet.audit_entry SET at = at - interval '1 day'")
    told = json.loads(command("audit", "verify", "--json").stdout)
    assert (told["sound"], told["overdue"]) == (False, 2)
    [problem] = [found["problem"] for found in told["findings"] if found["kind"] == "unsealed"]
    assert problem.startswith("2 chains have entries that are older than 10 minutes and that no seal covers.")
    assert "discreet worker" in problem


@pytest.mark.slow
def test_what_a_database_that_nobody_has_opened_yet_has_is_sound(command, tmp_path):
    command("settings", "set", "memory_retrieve_limit", "9")
    assert command("audit", "verify").exit_code == 0
    assert "is anchored" in command("audit", "anchor", "--file", str(tmp_path / "anchors")).stdout
    assert command("audit", "verify").exit_code == 0


@pytest.mark.slow
def test_nothing_is_sealed_under_another_identity_key(command, spoken, tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_IDENTITY_KEY", base64.b64encode(bytes([1]) * 32).decode())
    with pytest.raises(ConfigurationError, match="another identity key"):
        command("audit", "anchor", "--file", str(tmp_path / "anchors"))


def test_there_may_be_nothing_to_anchor_yet(command, tmp_path):
    assert command("audit", "anchor", "--file", str(tmp_path / "anchors")).stdout == "The trail has no entries yet.\n"
    assert not (tmp_path / "anchors").exists()


def test_a_database_without_tables_is_told(command, empty_database):
    with pytest.raises(StorageError):
        command("audit", "verify", "--dsn", empty_database)
