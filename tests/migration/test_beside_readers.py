"""A migration that wants a table for itself waits for those who read it, and keeps nobody else waiting meanwhile."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
from testkit.sessions import connected, until

from discreet.errors import MigrationError
from discreet.storage.database.migrating.migrations import migrate

WANTS_IT_ALONE = {"9001_colour": "ALTER TABLE discreet.thing ADD COLUMN colour text"}
WAITS = "wait_event_type = 'Lock' AND query LIKE 'ALTER TABLE discreet.thing%'"


def columns(dsn):
    with psycopg.connect(dsn) as connection:
        found = connection.execute("SELECT * FROM discreet.thing LIMIT 0")
        return [column.name for column in found.description]


@pytest.mark.slow
async def test_others_go_on_reading_while_a_migration_waits_for_a_long_reader(things, add_migrations):
    add_migrations(WANTS_IT_ALONE)
    async with connected(things) as long, connected(things) as other:
        async with long.transaction(force_rollback=True):
            await long.execute("SELECT FROM discreet.thing")
            migrating = asyncio.create_task(migrate(things))
            for _ in range(2):  # it comes back
                await until(things, WAITS)
                found = await other.execute("SELECT FROM discreet.thing")
                assert found.rowcount == 3
                await until(things, "state = 'idle' AND query LIKE 'ROLLBACK%'")
            assert not migrating.done()
        assert await migrating == ["9001_colour"]
    assert columns(things)[-1] == "colour"


@pytest.mark.slow
async def test_a_reader_who_never_ends_is_not_waited_for_for_ever(things, add_migrations):
    add_migrations(WANTS_IT_ALONE)
    async with connected(things) as long:
        async with long.transaction(force_rollback=True):
            await long.execute("SELECT FROM discreet.thing")
            with pytest.raises(MigrationError, match=r"9001_colour.*pg_blocking_pids") as caught:
                await migrate(things, lock_seconds=0.1)
            assert caught.value.__cause__ is None
        assert columns(things) == ["id", "name"]
        assert await migrate(things) == ["9001_colour"]


async def test_settings_of_a_role_that_end_statements_do_not_end_a_migration(things, add_migrations):
    names = ["lock_timeout", "statement_timeout", "transaction_timeout"]
    add_migrations(
        {
            "9001_settings": f"CREATE TABLE discreet.seen AS SELECT name, setting FROM pg_settings WHERE name = ANY ('{{{','.join(names)}}}')"
        }
    )
    hasty = psycopg.conninfo.make_conninfo(things, options="-c statement_timeout=50s -c lock_timeout=50s")
    assert await migrate(hasty) == ["9001_settings"]
    with psycopg.connect(things) as connection:
        seen = dict(connection.execute("SELECT name, setting FROM discreet.seen").fetchall())
    assert {name: seen[name] for name in names if name in seen} == dict.fromkeys(seen, "0") | {"lock_timeout": "2000"}
