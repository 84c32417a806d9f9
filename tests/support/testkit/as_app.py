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

ELSEWHERE = {
    "makes tables, which an application may not": (
        "checkpoint/postgres_tier/test_schemas.py",
        "checkpoint/postgres_tier/test_setup.py",
        "rights/retention/test_threads.py::test_a_database_without_a_checkpointer",
        "rights/retention/test_threads.py::test_tables_in_a_schema_that_is_named",
        "rights/erasure/test_all.py::test_every_table_of_a_user_is_known",
    ),
    "has LangGraph's own saver or store, which names no user": (
        "checkpoint/leaks/test_control.py",
        "checkpoint/postgres_tier/test_message_rows.py::test_a_stock_savers_thread",
        "checkpoint/test_against_stock.py",
        "checkpoint/test_branches.py",
        "checkpoint/test_owners.py::test_rows_of_another_saver",
        "checkpoint/test_postgres.py::test_a_shared_pool_stays_open",
        "checkpoint/test_postgres.py::test_nothing_of_what_a_stock_saver",
        "checkpoint/test_shared_tables.py",
        "checkpoint/working/test_deleted.py::test_what_is_stored_while_its_run_is_deleted",
        "graph/test_input.py::test_a_callers_system_message_joins postgres",
        "graph/test_input.py::test_a_turn_that_failed_leaves_its_system_message postgres",
        "graph/test_input.py::test_of_two_turns_each_has_the_system_message postgres",
        "graph/test_real_values.py postgres",
        "rights/retention/test_threads.py::test_threads_that_only_another_saver",
        "rights/retention/test_threads.py::test_checkpoints_stay_that_one_of_a_stock_savers",
        "storage/store/test_store_behaviour.py langgraph",
        "storage/test_opening.py::test_langgraphs_saver",
    ),
    "looks at rows of everybody, or says SQL of its own, as the application": (
        "checkpoint/postgres_tier/test_late_writes.py::test_a_deletion_waits_for_a_write",
        "checkpoint/postgres_tier/test_late_writes.py::test_tombstones_go_when",
        "checkpoint/test_spill_store.py::test_a_save_waits_for_nobody",
        "checkpoint/test_spill_store.py::test_each_save_deletes_some",
        "checkpoint/test_spill_store.py::test_work_that_the_database_refuses",
        "rights/erasure/test_verifying.py::test_what_is_left_is_found others",
        "storage/database/test_failures.py::test_a_server_that_only_reads",
        "storage/database/test_reaching.py::test_a_pool_leaves_a_server",
        "storage/database/test_reaching.py::test_after_a_failover",
        "storage/vault/test_sealed_vault.py::test_neither_files_nor_log",
    ),
    "is of how a search is planned where no policy applies": (
        "storage/memories/test_searching.py::test_a_search_reads_the_covering_index_only",
    ),
    "has roles of its own": ("storage/database/test_row_security.py", "storage/database/test_keys_of_others.py"),
}
"""Tests that mean nothing here, and why: how their ids begin, and what else is in them."""

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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what means nothing here; the rest of a file's tests of other stores than these stay."""
    away = [each.split(" ") for reason in ELSEWHERE.values() for each in reason]

    def means_nothing(item: pytest.Item) -> bool:
        name = item.nodeid.removeprefix("tests/integration/")
        return any(name.startswith(first) and all(part in name for part in parts) for first, *parts in away)

    config.hook.pytest_deselected(items=[item for item in items if means_nothing(item)])
    items[:] = [item for item in items if not means_nothing(item)]


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
