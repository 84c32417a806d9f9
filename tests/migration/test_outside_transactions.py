"""Indexes of tables that have rows: built while others write, by one process, and again after one that was broken off."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
from testkit.scripts import ScriptProcess
from testkit.sessions import connected, end, until

from discreet.cli import watching
from discreet.errors import MigrationError, StorageError
from discreet.storage.database.migrating.migration_files import Migration, built_index, released
from discreet.storage.database.migrating.migrations import migrate

INDEX = """-- not in a transaction
-- By name; see
CREATE INDEX CONCURRENTLY IF NOT EXISTS thing_name
    ON discreet.thing (name);
"""
TWO = INDEX + "CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS thing_both ON discreet.thing (id, name);\n"
MIGRATES = """
import asyncio, pathlib, sys
from discreet.storage.database.migrating import migrations
from discreet.storage.database.migrating.migration_files import released
migrations.released = lambda: [*released(), *released(pathlib.Path(sys.argv[2]))]
asyncio.run(migrations.migrate(sys.argv[1]))
"""
BUILDS = "query LIKE 'CREATE INDEX CONCURRENTLY%' AND wait_event_type = 'Lock'"


def indexes(dsn):
    with psycopg.connect(dsn) as connection:
        return connection.execute(
            "SELECT relname, indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid"
            " WHERE indrelid = 'discreet.thing'::regclass AND NOT indisprimary ORDER BY 1"
        ).fetchall()


def recorded(dsn):
    with psycopg.connect(dsn) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM discreet.migrations WHERE name > '9'")]


async def test_others_go_on_writing_while_an_index_is_built(things, add_migrations):
    add_migrations({"9001_index": TWO})
    async with connected(things) as long, connected(things) as other:
        async with long.transaction():
            await long.execute("INSERT INTO discreet.thing VALUES (4, 'open')")
            migrating = asyncio.create_task(migrate(things))
            await until(things, BUILDS)
            await other.execute("INSERT INTO discreet.thing VALUES (5, 'meanwhile')")
            assert not migrating.done()
        assert await migrating == ["9001_index"]
    assert indexes(things) == [("thing_both", True), ("thing_name", True)]


@pytest.mark.slow
async def test_an_index_whose_building_was_killed_is_built_again(things, add_migrations):
    add_migrations({"9001_index": INDEX})
    async with connected(things) as long, long.transaction():
        await long.execute("INSERT INTO discreet.thing VALUES (4, 'open')")
        migrating = asyncio.create_task(migrate(things))
        await until(things, BUILDS)
        await end(things, BUILDS)
        with pytest.raises(StorageError):
            await migrating
        assert (indexes(things), recorded(things)) == ([("thing_name", False)], [])
    assert await migrate(things) == ["9001_index"]
    assert (indexes(things), recorded(things)) == ([("thing_name", True)], ["9001_index"])


@pytest.mark.slow
async def test_a_process_that_was_killed_while_the_server_builds_on_is_followed_by_the_next(
    things, add_migrations, tmp_path
):
    add_migrations({"9001_index": INDEX})
    async with connected(things) as long:
        async with long.transaction():
            await long.execute("INSERT INTO discreet.thing VALUES (4, 'open')")
            with ScriptProcess(MIGRATES, things, tmp_path / "more_migrations") as process:
                await until(things, BUILDS)
                process.kill()
                process.wait()
            migrating = asyncio.create_task(migrate(things))
            await until(things, "query LIKE 'DROP INDEX CONCURRENTLY%' AND wait_event_type = 'Lock'")
        assert await migrating == ["9001_index"]
    assert (indexes(things), recorded(things)) == ([("thing_name", True)], ["9001_index"])


async def test_a_cancelled_build_says_what_cancels_and_goes_on_at_the_next_run(things, add_migrations):
    add_migrations({"9001_index": INDEX})
    async with connected(things) as long, connected(things) as other, long.transaction():
        await long.execute("INSERT INTO discreet.thing VALUES (4, 'open')")
        migrating = asyncio.create_task(migrate(things))
        await until(things, BUILDS)
        await other.execute(f"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE {BUILDS}")
        with pytest.raises(MigrationError, match="statement_timeout"):
            await migrating
    assert await migrate(things) == ["9001_index"]
    assert indexes(things) == [("thing_name", True)]


async def test_a_statement_that_fails_leaves_those_before_it_and_no_record(things, add_migrations):
    add_migrations({"9001_index": INDEX + "SELECT 1 / 0;"})
    with pytest.raises(MigrationError, match=r"22012.*goes on"):
        await migrate(things)
    assert (indexes(things), recorded(things)) == ([("thing_name", True)], [])


@pytest.mark.slow
async def test_six_processes_at_once_build_it_once(things, add_migrations):
    """Those who wait for their turn must not be what the index waits for: nobody would ever get on."""
    add_migrations({"9001_index": TWO, "9002_colour": "ALTER TABLE discreet.thing ADD COLUMN colour text"})
    async with connected(things) as long:
        async with long.transaction():
            await long.execute("INSERT INTO discreet.thing VALUES (4, 'open')")
            migrating = asyncio.gather(*(migrate(things) for _ in range(6)))
            await until(things, BUILDS)
            await until(things, "state = 'idle' AND query = 'COMMIT'")  # of a transaction that asked for the lock
        applied = await migrating
    assert sorted(applied) == [[]] * 5 + [["9001_index", "9002_colour"]]
    assert [valid for _, valid in indexes(things)] == [True, True]


async def test_what_an_index_waits_for_is_told_meanwhile(things, add_migrations, monkeypatch, capfd):
    monkeypatch.setattr(watching, "PERIOD_SECONDS", 0.05)
    add_migrations({"9001_index": INDEX})
    told = ""
    async with connected(things) as long, watching.watched(things):
        async with long.transaction():
            await long.execute("INSERT INTO discreet.thing VALUES (4, 'open')")
            migrating = asyncio.create_task(migrate(things))
            while (
                f"thing_name: waiting for writers before build, waits for the session {long.info.backend_pid}"
                not in told
            ):
                assert not migrating.done()
                await asyncio.sleep(0.05)
                told += capfd.readouterr().err
        await migrating


@pytest.mark.slow
async def test_several_processes_at_once_through_a_pooler_from_an_empty_database(pooled_database, add_migrations):
    add_migrations(
        {
            "9001_things": "CREATE TABLE discreet.thing (id integer, name text);"
            "INSERT INTO discreet.thing SELECT n, n::text FROM generate_series(1, 1000) n",
            "9002_index": TWO,
            "9003_last": "ALTER TABLE discreet.thing ADD COLUMN colour text",
        }
    )
    applied = await asyncio.gather(*(migrate(pooled_database) for _ in range(4)))
    assert sorted(len(names) for names in applied) == [0, 0, 0, len(released()) + 3]
    assert [valid for _, valid in indexes(pooled_database)] == [True, True]
    with psycopg.connect(pooled_database, prepare_threshold=None) as connection:
        locks = "SELECT FROM pg_locks JOIN pg_database d ON d.oid = database WHERE locktype = 'advisory' AND datname = current_database()"
        assert connection.execute(locks).rowcount == 0


@pytest.mark.parametrize(
    "statement", ["CREATE INDEX a ON discreet.b (c)", "CREATE UNIQUE INDEX CONCURRENTLY a ON b (c)"]
)
def test_an_index_that_could_not_be_built_again_is_refused(statement):
    with pytest.raises(MigrationError, match="IF NOT EXISTS"):
        built_index(statement)


def test_released_files_can_be_run_as_they_say():
    for migration in released():
        if migration.in_transaction:
            assert "CONCURRENTLY" not in migration.sql
        else:
            assert [built_index(statement) for statement in migration.statements]


def test_statements_are_told_apart_without_their_comments():
    migration = Migration("1", INDEX + "-- one; two;\nVACUUM (ANALYZE) a;\nSELECT ';' || b\n;")
    assert migration.in_transaction is False
    assert [statement.split()[0] for statement in migration.statements] == ["CREATE", "VACUUM", "SELECT"]
