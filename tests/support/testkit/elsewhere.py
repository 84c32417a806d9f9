"""Run tests of the storage in somebody else's database: `pytest -p testkit.elsewhere tests/integration/storage/…`.

Our tables are in a schema with a name that must be quoted, pgvector is in one that no search_path names, as at Supabase, and with
DISCREET_TEST_POOLED=true PgBouncer in transaction mode is in between. What the tests themselves say to the server is translated.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import ExitStack
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg.abc import Params, Query
from psycopg.sql import Composable

from discreet.settings import Settings
from discreet.storage.database.connecting.names import Names
from testkit import pooler

SCHEMA = "Acme memory"
VECTOR_SCHEMA = "extensions"
NAMES = Names(SCHEMA, VECTOR_SCHEMA)
POOLED = os.environ.get("DISCREET_TEST_POOLED") == "true"

_closing = ExitStack()
_pooler: list[str] = []


class TranslatingCursor(psycopg.Cursor[Any]):
    """Says what a test says as the database wants it."""

    def execute(self, query: Query, params: Params | None = None, **options: Any) -> Any:  # type: ignore[override]
        return super().execute(self._said(query), params, **options)

    def executemany(self, query: Query, params_seq: Any, **options: Any) -> None:
        super().executemany(self._said(query), params_seq, **options)

    def copy(self, statement: Query, params: Params | None = None, **options: Any) -> Any:
        return super().copy(self._said(statement), params, **options)

    def _said(self, query: Query) -> Any:
        if isinstance(query, Composable):
            query = query.as_bytes(self)
        return NAMES.translate(query) if isinstance(query, (str, bytes)) else query


def pytest_configure() -> None:
    """Have the settings say where the tables are, and the tests' own connections know it."""
    Settings.model_fields["db_schema"].default = SCHEMA
    Settings.model_rebuild(force=True)
    psycopg.connect = partial(psycopg.connect, cursor_factory=TranslatingCursor, prepare_threshold=None)


def pytest_unconfigure() -> None:
    """End the pooler."""
    _closing.close()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any) -> Generator[None, Any, Any]:
    """Put pgvector apart in every database of the server, and the pooler before those that tests get."""
    made = yield
    if fixturedef.argname == "server_dsn":
        with psycopg.connect(urlsplit(made)._replace(path="/template1").geturl(), autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {VECTOR_SCHEMA}")
            connection.execute(f"CREATE EXTENSION vector SCHEMA {VECTOR_SCHEMA}")
        if POOLED:
            _pooler.append(_closing.enter_context(pooler.pooled(made)))
    if fixturedef.argname in {"database", "empty_database"} and _pooler:
        made = urlsplit(_pooler[0])._replace(path=urlsplit(made).path).geturl()
        fixturedef.cached_result = (made, *fixturedef.cached_result[1:])
    return made
