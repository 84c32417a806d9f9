"""A database whose server writes all that it is told into its log, and the search of what it keeps."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import pytest
from kit.places import ChangedFiles, make_talkative, rows
from kit.planter import Planter
from kit.search import Found, search
from testkit.databases import WorkerDatabase

# The battery is a package of its own, because the processes that these tests kill play it too.
sys.path.insert(0, str(Path(__file__).parent))

from leak_battery.scenes import FAMILIES


@pytest.fixture
def new_talkative_database(empty_database: str) -> str:
    """Return the DSN of a new database whose server logs every statement with its parameters, and every error in full."""
    return make_talkative(empty_database)


@pytest.fixture(scope="session")
def talkative_worker_database(server_dsn: str, migrated_template: str) -> Iterator[WorkerDatabase]:
    """Return a database like the new one, with tables, that the tests of this process use in turn."""
    shared = WorkerDatabase(server_dsn, migrated_template, prepare=make_talkative)
    yield shared
    shared.drop()


@pytest.fixture
def talkative_database(talkative_worker_database: WorkerDatabase) -> Iterator[str]:
    """Return the DSN of such a database without rows: far sooner there than a new one."""
    with talkative_worker_database.lend() as dsn:
        yield dsn


@pytest.fixture
def plants() -> Planter:
    return Planter(families=FAMILIES)


@pytest.fixture
def left_by(plants: Planter, changed_files: ChangedFiles) -> Callable[[str], Found]:
    """Return what finds the planted words in a database and in the files of its server that the test has changed."""
    return lambda dsn: search(
        chain(rows(dsn, may_be_empty=True), changed_files), plants
    )  # what is refused leaves files alone


@pytest.fixture(params=[3, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
def every(request: pytest.FixtureRequest) -> int:
    """Return 3 to play every third scene, each with some durability; or 1 for all, which is slow."""
    every: int = request.param
    return every
