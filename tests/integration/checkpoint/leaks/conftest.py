"""A database whose server writes all that it is told into its log, and the search of what it keeps."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

# The battery is a package of its own, because the processes that these tests kill play it too.
sys.path.insert(0, str(Path(__file__).parent))

from leak_battery.plants import Plants
from leak_battery.search import Found, search


@pytest.fixture
def talkative_database(empty_database: str) -> str:
    """Return the DSN of a database whose server logs every statement with its parameters, and every error in full."""
    name = urlsplit(empty_database).path.removeprefix("/")
    with psycopg.connect(empty_database, autocommit=True) as connection:
        for setting in (
            "log_min_messages = 'info'",
            "log_statement = 'all'",
            "log_min_error_statement = 'error'",
            "log_error_verbosity = 'default'",
            "log_parameter_max_length = -1",
            "log_parameter_max_length_on_error = -1",
        ):
            connection.execute(f"ALTER DATABASE {name} SET {setting}")
    return empty_database


@pytest.fixture
def plants() -> Plants:
    return Plants(secrets.randbits(64))


@pytest.fixture
def left_by(plants: Plants, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Found]:
    """Return what finds the planted words in a database and in the files of its server."""
    server = next(tmp_path_factory.getbasetemp().glob("server[0-9]*"))
    return lambda dsn: search(dsn, server, plants)


@pytest.fixture(params=[3, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
def every(request: pytest.FixtureRequest) -> int:
    """Return 3 to play every third scene, each with some durability; or 1 for all, which is slow."""
    every: int = request.param
    return every
