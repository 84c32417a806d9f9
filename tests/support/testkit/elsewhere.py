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
        return super().execute(_said(query, self), params, **options)

    def executemany(self, query: Query, params_seq: Any, **options: Any) -> None:
        super().executemany(_said(query, self), params_seq, **options)

    def copy(self, statement: Query, params: Params | None = None, **options: Any) -> Any:
        return super().copy(_said(statement, self), params, **options)


class AsyncTranslatingCursor(psycopg.AsyncCursor[Any]):
    """Does so on an event loop."""

    async def execute(self, query: Query, params: Params | None = None, **options: Any) -> Any:  # type: ignore[override]
        return await super().execute(_said(query, self), params, **options)


def _said(query: Query, cursor: Any) -> Any:
    if isinstance(query, Composable):
        query = query.as_bytes(cursor)
    return NAMES.translate(query) if isinstance(query, (str, bytes)) else query


_connect = psycopg.AsyncConnection.connect.__func__  # type: ignore[attr-defined]  # without its class


async def _connect_translating(cls: type[Any], conninfo: str = "", **options: Any) -> Any:
    """Connect; ours, of a class of their own, translate by themselves."""
    if cls is psycopg.AsyncConnection:
        options = {"cursor_factory": AsyncTranslatingCursor, "prepare_threshold": None, **options}
    return await _connect(cls, conninfo, **options)


def pytest_configure() -> None:
    """Have the settings say where the tables are, and the tests' own connections know it."""
    os.environ["DISCREET_SCHEMA"] = SCHEMA
    psycopg.connect = partial(psycopg.connect, cursor_factory=TranslatingCursor, prepare_threshold=None)
    psycopg.AsyncConnection.connect = classmethod(_connect_translating)  # type: ignore[assignment, arg-type]  # stands in


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs the server itself, and LangGraph's own store, which finds pgvector by search_path only."""
    left_out = [item for item in items if item.get_closest_marker("direct") or "langgraph" in item.name]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def pytest_unconfigure() -> None:
    """End the pooler."""
    _closing.close()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any) -> Generator[None, Any, Any]:
    """Put pgvector apart in every database of the server, and the pooler before those that tests get."""
    made = yield
    if fixturedef.argname in {"_own_session", "own_environment"}:
        os.environ["DISCREET_SCHEMA"] = SCHEMA
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
