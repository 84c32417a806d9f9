"""Servers that take no writes, and roles that own nothing: fine where nothing is missing, and told what to do where it is."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import NamedTuple

import psycopg
import pytest
from testkit.roles import role

from discreet.checkpoint import RedactingSaver
from discreet.checkpoint.migrating import migrate_checkpoints
from discreet.encryption import Keyring, make_key
from discreet.errors import MigrationError
from discreet.storage.database.migrating.migrations import migrate
from discreet.storage.embedded import lease_server

READ_ONLY = "-c default_transaction_read_only=on"
RIGHTS = ("USAGE ON SCHEMA discreet", "SELECT ON ALL TABLES IN SCHEMA discreet")
NEXT = {"9001_next": "ALTER TABLE discreet.thing ADD COLUMN colour text"}


class Databases(NamedTuple):
    whole: str
    """Has all tables."""
    empty: str


@pytest.fixture(scope="module")
def standby(server_dsn, tmp_path_factory) -> Iterator[Databases]:
    """Return databases of a server in recovery, which nobody sends anything."""
    folder = tmp_path_factory.mktemp("standby")
    with psycopg.connect(server_dsn) as connection:
        version = connection.info.server_version // 10_000
    with lease_server(folder, version=version) as whole:
        asyncio.run(migrate(whole))
        asyncio.run(migrate_checkpoints(whole))
        (data,) = folder.glob("postgres-*/data")
        signal = data / "standby.signal"
        signal.touch()
        os.chown(signal, data.stat().st_uid, -1)
    with lease_server(folder, version=version) as whole:
        yield Databases(whole, psycopg.conninfo.make_conninfo(whole, dbname="postgres"))


@pytest.fixture
def read_only(database, empty_database) -> Databases:
    """Return databases that a setting protects."""
    asyncio.run(migrate_checkpoints(database))
    return Databases(*(psycopg.conninfo.make_conninfo(dsn, options=READ_ONLY) for dsn in (database, empty_database)))


@pytest.fixture(params=["standby", "read_only"])
def databases(request) -> Databases:
    return request.getfixturevalue(request.param)


@pytest.mark.slow
async def test_where_nothing_is_missing_a_server_that_takes_no_writes_will_do(databases):
    assert await migrate(databases.whole) == []
    assert (await migrate_checkpoints(databases.whole)).steps == []
    async with RedactingSaver.from_conn_string(databases.whole, keys=Keyring([make_key()])) as saver:
        await saver.setup()


@pytest.mark.slow
async def test_what_is_missing_has_to_be_made_on_the_primary(databases):
    with pytest.raises(MigrationError, match=r"lacks 0001_\w+.*`discreet migrate` on the primary"):
        await migrate(databases.empty)
    with pytest.raises(MigrationError, match=r"LangGraph's tables.*`discreet migrate` on the primary"):
        await migrate_checkpoints(databases.empty)
    async with RedactingSaver.from_conn_string(databases.empty) as saver:
        with pytest.raises(MigrationError, match="on the primary"):
            await saver.setup()


async def test_where_nothing_is_missing_a_role_that_owns_nothing_will_do(things):
    with role(things, *RIGHTS) as (_, as_role), psycopg.connect(things) as other:
        other.execute("LOCK TABLE discreet.migrations IN SHARE UPDATE EXCLUSIVE MODE")  # any change would wait for this
        assert await migrate(as_role) == []


async def test_what_a_role_may_not_apply_is_left_to_the_owner(things, add_migrations):
    add_migrations(NEXT)
    with (
        role(things, *RIGHTS) as (_, as_role),
        pytest.raises(MigrationError, match=r"lacks 9001_next.*owner.*`discreet migrate`.*GRANT"),
    ):
        await migrate(as_role)
    assert await migrate(things) == ["9001_next"]


async def test_a_role_that_may_not_even_look_is_told_which_right_it_needs(database):
    with role(database) as (_, as_role), pytest.raises(MigrationError, match="GRANT it USAGE ON SCHEMA discreet"):
        await migrate(as_role)


async def test_a_role_that_may_create_no_schema_is_told_so(empty_database):
    with psycopg.connect(empty_database) as connection:
        connection.execute("CREATE EXTENSION vector")
    with role(empty_database) as (_, as_role), pytest.raises(MigrationError, match='CREATE SCHEMA "discreet"'):
        await migrate(as_role)
