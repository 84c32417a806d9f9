"""A database whose server writes all that it is told into its log, and the search of what it keeps."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from discreet.checkpoint import RedactingSyncSaver

# The battery is a package of its own, because the processes that these tests kill play it too.
sys.path.insert(0, str(Path(__file__).parent))

from leak_battery.plants import Plants
from leak_battery.search import Found, search

SETTINGS = (
    "log_min_messages = 'info'",
    "log_statement = 'all'",
    "log_min_error_statement = 'error'",
    "log_error_verbosity = 'default'",
    "log_parameter_max_length = -1",
    "log_parameter_max_length_on_error = -1",
)


def _make_talkative(dsn: str) -> str:
    name = urlsplit(dsn).path.removeprefix("/")
    with psycopg.connect(dsn, autocommit=True) as connection:
        for setting in SETTINGS:
            connection.execute(f"ALTER DATABASE {name} SET {setting}")
    return dsn


@pytest.fixture
def new_talkative_database(empty_database: str) -> str:
    """Return the DSN of a new database whose server logs every statement with its parameters, and every error in full."""
    return _make_talkative(empty_database)


@pytest.fixture(scope="session")
def shared_talkative_database(make_database: Callable[..., AbstractContextManager[str]]) -> Iterator[str]:
    """Return the DSN of a database like the new one, with the savers' tables."""
    with make_database(template="template1") as dsn:
        with RedactingSyncSaver.from_conn_string(dsn) as saver:
            saver.setup()
        yield _make_talkative(dsn)


@pytest.fixture
def talkative_database(shared_talkative_database: str, emptied: Callable[[str], str]) -> str:
    """Return the DSN of such a database without rows: far sooner there than a new one."""
    return emptied(shared_talkative_database)


@pytest.fixture
def plants() -> Plants:
    return Plants(secrets.randbits(64))


@pytest.fixture
def left_by(plants: Plants, written_files: Callable[[], list[Path]]) -> Callable[[str], Found]:
    """Return what finds the planted words in a database and in the files of its server that the test has changed."""
    return lambda dsn: search(dsn, written_files, plants)


@pytest.fixture(params=[3, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
def every(request: pytest.FixtureRequest) -> int:
    """Return 3 to play every third scene, each with some durability; or 1 for all, which is slow."""
    every: int = request.param
    return every
