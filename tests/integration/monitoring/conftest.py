"""A database that the tests of a process share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest


@pytest.fixture(scope="session")
def shared_database(make_database: Callable[..., AbstractContextManager[str]], migrated_template: str) -> Iterator[str]:
    """Return the DSN of a migrated database for several tests."""
    with make_database(template=migrated_template) as dsn:
        yield dsn
