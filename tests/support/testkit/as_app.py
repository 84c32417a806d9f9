"""Run tests of the storage as the roles of docs/roles.md: `pytest -p testkit.as_app tests/integration/storage/…`.

The product works on a test's database as the application, with a worker and an owner beside it, so that row-level security is in
force; what the tests themselves say to the server, they say as the owner.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Coroutine, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from discreet.checkpoint.migrating import migrate_checkpoints
from discreet.storage.database.migrating.migrations import migrate
from discreet.storage.database.roles import RoleNames
from testkit.roles import logins

NAMES = RoleNames()
_connect = psycopg.connect
_connect_async = psycopg.AsyncConnection.connect.__func__  # type: ignore[attr-defined]  # without its class
_owners: dict[str, str] = {}


def as_owner(conninfo: str) -> str:
    """Return `conninfo` for the owner, if it is the application's."""
    given = conninfo_to_dict(conninfo)
    if given.get("user") != NAMES.app:
        return conninfo
    owner = conninfo_to_dict(_owners["dsn"])
    return make_conninfo(conninfo, user=owner["user"], password=owner.get("password", ""))


def _connect_as_owner(conninfo: str = "", **options: Any) -> Any:
    return _connect(as_owner(conninfo), **options)


def _connect_async_as_owner(cls: type[Any], conninfo: str = "", **options: Any) -> Any:
    is_test = cls is psycopg.AsyncConnection and not _is_product()
    return _connect_async(cls, as_owner(conninfo) if is_test else conninfo, **options)


def _is_product() -> bool:
    """Return whether it is the product, or LangGraph for it, that connects."""
    return sys._getframe(2).f_globals["__name__"].startswith(("discreet.", "langgraph.", "psycopg_pool."))  # for tests


def pytest_configure() -> None:
    """Have the tests' own connections be the owner's."""
    psycopg.connect = _connect_as_owner  # type: ignore[assignment]  # stands in
    psycopg.AsyncConnection.connect = classmethod(_connect_async_as_owner)  # type: ignore[assignment, arg-type]  # stands in


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any, request: Any) -> Generator[None, Any, Any]:
    """Make the roles once they can be, and name the application's where a test asks for a database."""
    made = yield
    if fixturedef.argname == "server_dsn":
        _owners["dsn"] = made
    if fixturedef.argname == "empty_database" and "/checkpoint/" in str(request.node.path):
        _run(migrate(made))
    if fixturedef.argname == "database" or (
        "/checkpoint/" in str(request.node.path) and fixturedef.argname == "empty_database"
    ):
        _run(migrate_checkpoints(made))
        made = _named(made)
        fixturedef.cached_result = (made, *fixturedef.cached_result[1:])
    return made


def _named(dsn: str) -> str:
    """Have the settings name a database as its roles; return the application's DSN."""
    with ThreadPoolExecutor(1) as beside:
        named = beside.submit(logins, dsn).result()
    os.environ["DISCREET_POSTGRES_DSN"] = named.app
    os.environ["DISCREET_POSTGRES_WORKER_DSN"] = named.worker
    os.environ["DISCREET_POSTGRES_OWNER_DSN"] = named.owner
    return named.app


def _run(work: Coroutine[Any, Any, object]) -> None:
    """Run it beside a loop that may run already."""
    with ThreadPoolExecutor(1) as beside:
        beside.submit(asyncio.run, work).result()
