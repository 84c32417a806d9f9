"""Databases that stock graphs have filled, planted once and copied for each test that changes one."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql
from testkit import pooler as poolers
from testkit.planting.planting import plant_database
from testkit.planting.registry import SCENARIOS
from testkit.roles import role

THREADS = 6 * len(SCENARIOS)
SEED = 20


@pytest.fixture(scope="session")
def plant(make_database):
    """Return the DSN of a database with threads of all kinds, and what is in it. Nobody changes it."""
    with make_database(template="template1") as dsn:
        yield dsn, asyncio.run(plant_database(dsn, threads=THREADS, seed=SEED))


@pytest.fixture
def copy(plant, make_database):
    """Return a copy of it that a test may change, and what is in it."""
    dsn, entries = plant
    with make_database(template=urlsplit(dsn).path.removeprefix("/")) as copied:
        yield copied, entries


@pytest.fixture(scope="session")
def small(make_database):
    """Return a database of one thread of each kind, and what is in it. Nobody changes it."""
    with make_database(template="template1") as dsn:
        yield dsn, asyncio.run(plant_database(dsn, threads=len(SCENARIOS), seed=SEED + 1))


@pytest.fixture
def small_copy(small, make_database):
    """Return a copy of it that a test may change, and what is in it."""
    dsn, entries = small
    with make_database(template=urlsplit(dsn).path.removeprefix("/")) as copied:
        yield copied, entries


@pytest.fixture(scope="module")
def apart(tmp_path_factory):
    """Have the settings of what a module's tests share read nothing of the developer's; return a folder."""
    folder = tmp_path_factory.mktemp("apart")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_DATA_DIR", str(folder))
        patch.chdir(folder)
        yield folder


@pytest.fixture
def pooler(small):
    """Return a DSN of `small` through PgBouncer in transaction mode."""
    if not poolers.installed():
        pytest.skip("pgbouncer is not installed (Debian: apt-get install pgbouncer)")
    with poolers.pooled(small[0]) as dsn:
        yield dsn


@pytest.fixture
def standby(small):
    """Return a DSN of `small` as a role that may read, and can't write whatever it may, as on a standby."""
    with role(small[0], "SELECT ON ALL TABLES IN SCHEMA public") as (name, dsn):
        with psycopg.connect(small[0]) as connection:
            connection.execute(
                sql.SQL("ALTER ROLE {} SET default_transaction_read_only = on").format(sql.Identifier(name))
            )
        yield dsn
