"""Each house on an empty database, in each durability."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

import pytest
from testkit import pooler
from testkit.houses import House

Durability = Literal["sync", "async", "exit"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Play each test in one durability in the fast suite, another one from test to test, and by night in all."""
    folder = Path(__file__).parent
    alike: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if folder in item.path.parents and isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            values = item.callspec.id.split("-")
            if item.callspec.params.get("durability") in values:
                values.remove(item.callspec.params["durability"])
                alike[f"{item.path.name} {item.originalname} {values}"].append(item)
    for name, group in alike.items():
        chosen = group[crc32(name.encode()) % len(group)]
        for item in group:
            if item is not chosen:
                item.add_marker(pytest.mark.slow)


@pytest.fixture(params=["sync", "async", "exit"])
def durability(request: pytest.FixtureRequest) -> Durability:
    return request.param  # type: ignore[no-any-return]  # pytest gives no type


@pytest.fixture
def house(database: str) -> House:
    return House(database)


@pytest.fixture
def bare_house(make_database: Callable[..., AbstractContextManager[str]]) -> Iterator[House]:
    """Return a house on a database without any table."""
    with make_database(template="template1") as dsn:
        yield House(dsn)


@pytest.fixture
def run(durability: Durability) -> Callable[..., Any]:
    """Return what runs a graph in the durability of the test."""

    async def run(graph: Any, given: Any, config: dict[str, Any], **options: Any) -> Any:
        return await graph.ainvoke(given, config, durability=durability, **options)

    return run


@pytest.fixture(scope="session")
def pgbouncer(server_dsn: str) -> Iterator[str]:
    """Return the DSN of a PgBouncer in transaction mode; its path is to be replaced."""
    if not pooler.installed():
        pytest.skip("pgbouncer is not installed (Debian: apt-get install pgbouncer)")
    with pooler.pooled(server_dsn) as dsn:
        yield dsn
