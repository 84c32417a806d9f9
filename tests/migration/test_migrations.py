"""Migrations on a real server: complete, repeatable, safe when many processes start at once."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from dataclasses import replace
from importlib import resources
from urllib.parse import urlsplit

import psycopg
import pytest
from testkit.scripts import ScriptProcess

from discreet import locks
from discreet.errors import MigrationError, StorageUnavailableError, UnsupportedServerError
from discreet.storage.database.connecting import server
from discreet.storage.database.migrating import migrations
from discreet.storage.database.migrating.migrations import migrate, released

DESCRIBE_SCHEMA = """
SELECT 'column', c.relname || '.' || a.attname,
       concat_ws(' ', format_type(a.atttypid, a.atttypmod), a.attstorage, a.attnotnull, a.attidentity,
                 pg_get_expr(d.adbin, d.adrelid), coll.collname)
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
LEFT JOIN pg_collation coll ON coll.oid = a.attcollation
WHERE c.relnamespace = 'discreet'::regnamespace
UNION ALL
SELECT 'table', relname, concat_ws(' ', relkind, relpersistence, array_to_string(reloptions, ' '))
FROM pg_class WHERE relnamespace = 'discreet'::regnamespace
UNION ALL
SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = 'discreet'
UNION ALL
SELECT 'constraint', conrelid::regclass || '.' || conname, pg_get_constraintdef(oid)
FROM pg_constraint WHERE connamespace = 'discreet'::regnamespace
UNION ALL
SELECT 'function', oid::regprocedure::text, pg_get_functiondef(oid)
FROM pg_proc WHERE pronamespace = 'discreet'::regnamespace
UNION ALL
SELECT 'trigger', tgname, pg_get_triggerdef(oid) FROM pg_trigger
WHERE NOT tgisinternal AND tgrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'discreet'::regnamespace)
UNION ALL
SELECT 'type', t.typname, string_agg(e.enumlabel, ' ' ORDER BY e.enumsortorder)
FROM pg_type t JOIN pg_enum e ON e.enumtypid = t.oid WHERE t.typnamespace = 'discreet'::regnamespace GROUP BY t.typname
ORDER BY 1, 2
"""


def describe(dsn):
    with psycopg.connect(dsn) as connection:
        return connection.execute(DESCRIBE_SCHEMA).fetchall()


@pytest.mark.slow
async def test_the_commented_schema_is_what_the_migrations_make(empty_database, make_database):
    schema = resources.files("discreet.storage.database.migrating.sql").joinpath("schema.sql").read_text("utf-8")
    with psycopg.connect(empty_database) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute(schema)
    with make_database(template="template1") as database:
        await migrate(database)
        assert describe(database) == describe(empty_database)


async def test_a_second_run_applies_nothing(empty_database):
    names = [migration.name for migration in released()]
    assert await migrate(empty_database) == names
    assert await migrate(empty_database) == []


def test_names_are_numbered_without_a_gap():
    assert [migration.name[:4] for migration in released()] == [f"{n:04}" for n in range(1, len(released()) + 1)]


async def test_eight_first_starts_at_once_all_succeed(empty_database):
    applied = await asyncio.gather(*(migrate(empty_database) for _ in range(8)))
    assert sorted(name for names in applied for name in names) == [migration.name for migration in released()]


@pytest.mark.slow
async def test_eight_processes_may_start_at_once(empty_database):
    script = "import asyncio, sys; from discreet.storage.database.migrating.migrations import migrate; asyncio.run(migrate(sys.argv[1]))"
    with ExitStack() as stack:
        processes = [stack.enter_context(ScriptProcess(script, empty_database)) for _ in range(8)]
        assert [process.wait() for process in processes] == [0] * 8


async def test_a_changed_released_file_is_refused(database, monkeypatch):
    changed = [replace(migration, sql=migration.sql + "-- changed") for migration in released()]
    monkeypatch.setattr(migrations, "released", lambda: changed)
    with pytest.raises(MigrationError, match=r"0001_schema was changed"):
        await migrate(database)


async def test_a_failing_migration_leaves_nothing_behind(empty_database, monkeypatch):
    broken = migrations.Migration("9999_broken", "CREATE TABLE discreet.half (id int); SELECT 1 / 0")
    good = released()
    monkeypatch.setattr(migrations, "released", lambda: [*good, broken])
    with pytest.raises(MigrationError, match="9999_broken"):
        await migrate(empty_database)
    with psycopg.connect(empty_database) as connection:
        assert connection.execute("SELECT to_regclass('discreet.half')").fetchone() == (None,)
        assert connection.execute("SELECT name FROM discreet.migrations").fetchall() == [(m.name,) for m in good]


async def test_waiting_for_another_process_is_bounded(empty_database):
    with psycopg.connect(empty_database) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", [locks.SETUP_LOCK])
        with pytest.raises(MigrationError, match="Another process"):
            await migrate(empty_database, lock_seconds=0.1)
        other.rollback()
    assert await migrate(empty_database) != []


async def test_a_role_that_may_not_create_pgvector_is_told_what_to_do(empty_database):
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS plain_role")
        connection.execute("CREATE ROLE plain_role LOGIN PASSWORD 'plain'")
    plain = urlsplit(empty_database)
    dsn = psycopg.conninfo.make_conninfo(plain.geturl(), user="plain_role", password="plain")
    with pytest.raises(MigrationError, match="CREATE EXTENSION vector"):
        await migrate(dsn)


async def test_pgvector_in_a_schema_of_its_own_is_found(empty_database):
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA extensions")
        connection.execute("CREATE EXTENSION vector SCHEMA extensions")
    assert await migrate(empty_database) == [migration.name for migration in released()]


async def test_an_old_server_and_an_old_pgvector_are_refused(empty_database, monkeypatch):
    monkeypatch.setattr(server, "MIN_POSTGRES", 99)
    with pytest.raises(UnsupportedServerError, match="Discreet needs 99"):
        await migrate(empty_database)
    monkeypatch.undo()
    monkeypatch.setattr(server, "MIN_PGVECTOR", (99, 0))
    with pytest.raises(UnsupportedServerError, match=r"pgvector .* is too old"):
        await migrate(empty_database)


async def test_a_server_that_is_not_there_is_unavailable_and_the_password_is_not_shown():
    with pytest.raises(StorageUnavailableError) as caught:
        await migrate("postgresql://ann:" + "tops" + "ecret@127.0.0.1:1/none")
    assert "topsecret" not in f"{caught.value!r} {caught.value.__cause__!r}"
