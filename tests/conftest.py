"""Fixtures for all tests: an environment of their own, and a real PostgreSQL server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest

POSTGRES_VERSION = int(os.environ.get("DISCREET_TEST_POSTGRES_VERSION", "18"))

_FOREIGN_SETTINGS = ("DISCREET_", "OPENAI_", "LANGSMITH_", "LANGCHAIN_", "PG")


@pytest.fixture(autouse=True)
def own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the developer's settings: no variable, no `.env` and no `.discreet` of the checkout is seen by a test."""
    for name in list(os.environ):
        if name.startswith(_FOREIGN_SETTINGS):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def server_dsn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the DSN of one embedded server for the whole session; DISCREET_TEST_POSTGRES_VERSION chooses its version."""
    from discreet.storage.embedded import lease_server  # here, as tests without a database need not pay for it

    with lease_server(tmp_path_factory.mktemp("server"), version=POSTGRES_VERSION) as dsn:
        yield dsn


@pytest.fixture
def empty_database(server_dsn: str) -> Iterator[str]:
    """Return the DSN of a new database without any table, dropped afterwards whoever is still connected."""
    name = f"test_{uuid4().hex}"
    with psycopg.connect(server_dsn, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield urlsplit(server_dsn)._replace(path=f"/{name}").geturl()
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
