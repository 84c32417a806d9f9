"""`discreet migrate` at real servers: the tables of memory and of the checkpointer, at once, alone, and only looked at."""

from __future__ import annotations

import asyncio
import json

import psycopg
import pytest
from testkit.roles import role
from testkit.sessions import connected
from typer.testing import CliRunner

from discreet.checkpoint import RedactingSaver
from discreet.checkpoint.migrating import migrate_checkpoints
from discreet.cli import app, watching
from discreet.encryption import Keyring, make_key
from discreet.storage.database.migrating.migration_files import released
from discreet.storage.database.migrating.migrations import migrate

pytestmark = pytest.mark.slow

NAMES = [migration.name for migration in released()]
SCHEMAS = "SELECT DISTINCT schemaname::text FROM pg_tables WHERE tablename LIKE 'checkpoint%' ORDER BY 1"
UP_TO_DATE = "All tables are up to date.\n"


def command(*arguments, code=0):
    result = CliRunner().invoke(app, ["migrate", *arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result.stdout


def schemas(dsn):
    with psycopg.connect(dsn) as connection:
        return [schema for (schema,) in connection.execute(SCHEMAS)]


def test_it_says_what_it_did_for_each_and_nothing_is_left(empty_database):
    lines = command("--dsn", empty_database).splitlines()
    assert lines[: len(NAMES)] == [f"applied {name}" for name in NAMES]
    assert "made LangGraph's tables of the checkpointer" in lines
    assert "made checkpoint_spill of the checkpointer" in lines
    assert command("--dsn", empty_database) == command("--dsn", empty_database, "--check") == UP_TO_DATE


def test_as_json_it_says_the_same(empty_database):
    told = json.loads(command("--dsn", empty_database, "--json"))
    assert told["applied"] == NAMES
    assert {"LangGraph's tables", "checkpoint_spill"} <= {*told["checkpoints"]["applied"]}
    again = json.loads(command("--dsn", empty_database, "--json"))
    assert again == {"applied": [], "checkpoints": {"schema": told["checkpoints"]["schema"], "applied": []}}


def test_a_check_changes_nothing_and_tells_by_its_exit_code(empty_database):
    assert f"pending {NAMES[0]}\n" in command("--dsn", empty_database, "--check", code=1)
    told = json.loads(command("--dsn", empty_database, "--check", "--json", code=1))
    assert (told["pending"], told["unknown"], told["changed"]) == (NAMES, [], [])
    assert "LangGraph's tables" in told["checkpoints"]["pending"]
    assert schemas(empty_database) == []
    asyncio.run(migrate(empty_database))
    assert "pending LangGraph's tables of the checkpointer" in command("--dsn", empty_database, "--check", code=1)
    asyncio.run(migrate_checkpoints(empty_database))
    assert command("--dsn", empty_database, "--check") == UP_TO_DATE


def test_a_check_of_what_this_version_cannot_migrate_has_an_exit_code_of_its_own(database):
    with psycopg.connect(database) as connection:
        connection.execute(
            "INSERT INTO discreet.migrations (name, checksum, version) VALUES ('9001_next', 'x', '7.1.0')"
        )
    assert "unknown 9001_next: applied by Discreet 7.1.0" in command("--dsn", database, "--check", code=2)
    assert json.loads(command("--dsn", database, "--check", "--json", code=2))["unknown"] == [
        {"name": "9001_next", "version": "7.1.0"}
    ]


def test_the_checkpointer_may_have_a_schema_of_its_own(empty_database):
    command("--dsn", empty_database, "--checkpoint-schema", "threads")
    assert schemas(empty_database) == ["threads"]
    assert command("--dsn", empty_database, "--checkpoint-schema", "threads", "--check") == UP_TO_DATE
    command("--dsn", empty_database, "--check", code=1)


async def test_setup_of_a_role_that_owns_nothing_has_nothing_to_do_afterwards(empty_database):
    await asyncio.to_thread(command, "--dsn", empty_database)
    rights = "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA"
    (schema,) = schemas(empty_database)
    with role(empty_database, f"{rights} {schema}", f"{rights} discreet", f"USAGE ON SCHEMA {schema}, discreet") as (
        _,
        as_role,
    ):
        assert await asyncio.to_thread(command, "--dsn", as_role, "--checkpoint-schema", schema) == UP_TO_DATE
        async with RedactingSaver.from_conn_string(as_role, schema=schema, keys=Keyring([make_key()])) as saver:
            await saver.setup()


async def test_from_an_empty_database_through_a_pooler_several_at_once(pooled_database):
    told = await asyncio.gather(*(asyncio.to_thread(migrated, pooled_database) for _ in range(3)))
    assert sorted(len(names) for names, _ in told) == [0, 0, len(NAMES)]
    assert sum("LangGraph's tables" in steps for _, steps in told) == 1
    assert await asyncio.to_thread(command, "--dsn", pooled_database, "--check") == UP_TO_DATE


def migrated(dsn):
    async def both():
        return await migrate(dsn), (await migrate_checkpoints(dsn)).steps

    return asyncio.run(both())


async def test_who_is_in_the_way_is_told_while_it_waits(empty_database, monkeypatch, capfd):
    monkeypatch.setattr(watching, "PERIOD_SECONDS", 0.05)
    await migrate(empty_database)
    await migrate_checkpoints(empty_database)
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute("DELETE FROM checkpoint_migrations WHERE v >= 4")
    target = watching.named(empty_database)
    told = ""
    async with connected(empty_database) as long, watching.watched(target):
        async with long.transaction(force_rollback=True):
            await long.execute("SELECT FROM checkpoint_blobs")
            working = asyncio.create_task(migrate_checkpoints(target))
            while f"session {long.info.backend_pid}" not in told:
                assert not working.done()
                await asyncio.sleep(0.05)
                told += capfd.readouterr().err
        assert "LangGraph's migration 4" in (await working).steps
