"""Processes of several versions over one database."""

from __future__ import annotations

import psycopg
import pytest

from discreet.errors import MigrationError, NewerDatabaseError
from discreet.storage import open_storage
from discreet.storage.database.migrating import migrations
from discreet.storage.database.migrating.applied import this_version
from discreet.storage.database.migrating.migration_files import released
from discreet.storage.database.migrating.migrations import migrate

NEXT = {"9001_next": "CREATE TABLE discreet.next (id integer)", "9002_last": "DROP TABLE discreet.next"}


def applied(dsn):
    with psycopg.connect(dsn) as connection:
        return connection.execute("SELECT name, version FROM discreet.migrations ORDER BY name").fetchall()


async def test_who_applied_a_migration_is_recorded(database):
    assert applied(database) == [(migration.name, this_version()) for migration in released()]


@pytest.mark.dialect
async def test_a_newer_process_migrates_forward(database, add_migrations):
    add_migrations(NEXT)
    assert await migrate(database) == [*NEXT]


async def test_an_older_process_refuses_to_start_and_says_which_version_it_would_have_to_be(
    database, add_migrations, monkeypatch
):
    with monkeypatch.context() as newer:
        newer.setattr("discreet.storage.database.migrating.applying.this_version", lambda: "7.1.0")
        add_migrations(NEXT)
        await migrate(database)
    monkeypatch.setattr(migrations, "released", released)
    before = applied(database)
    with pytest.raises(NewerDatabaseError, match=r"9001_next, 9002_last.*Install Discreet 7\.1\.0 or newer") as caught:
        async with open_storage(database):
            pytest.fail("an older process works on newer tables")
    assert (caught.value.unknown, caught.value.needs) == (["9001_next", "9002_last"], "7.1.0")
    assert isinstance(caught.value, MigrationError)
    assert applied(database) == before


async def test_an_older_process_applies_nothing_of_its_own_to_a_newer_database(database, add_migrations):
    with psycopg.connect(database) as connection:
        connection.execute(
            "INSERT INTO discreet.migrations (name, checksum, version) VALUES ('9003_newer', 'x', '8.0.0')"
        )
    add_migrations(NEXT)
    with pytest.raises(NewerDatabaseError, match="9003_newer"):
        await migrate(database)
    assert "9001_next" not in dict(applied(database))
