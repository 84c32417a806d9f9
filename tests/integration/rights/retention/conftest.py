"""A storage beside which nothing sweeps, and a clock for its retention."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from discreet.settings import Settings
from discreet.storage import Storage, open_storage
from discreet.testing import InMemoryAuditLog, StubEmbeddings

KEPT = {"retention_log_days": 30, "retention_checkpoint_days": 30, "retention_turn_days": 180}
"""What the settings file of a new project says; the library's defaults keep these."""
NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)


@dataclass
class Clock:
    """What time it is for the retention."""

    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now

    def ago(self, **time: float) -> datetime:
        return self.now - timedelta(**time)


@pytest.fixture
def clock() -> Clock:
    """Return the clock, which stands still."""
    return Clock()


@pytest.fixture
def audit() -> InMemoryAuditLog:
    """Return the trail that sweeps are told to."""
    return InMemoryAuditLog()


@pytest.fixture
async def storage(database: str, clock: Clock, audit: InMemoryAuditLog) -> AsyncIterator[Storage]:
    """Return a storage over a database without rows, whose retention goes by `clock` and by `KEPT`."""
    async with open_storage(
        database, settings=Settings(**KEPT), embeddings=StubEmbeddings(dims=64), maintained=False
    ) as opened:
        opened.retention._clock, opened.retention._audit = clock, audit
        yield opened


@pytest.fixture
def rows(database: str) -> Callable[..., list[tuple[Any, ...]]]:
    """Return what runs a query and returns all rows."""

    def run(query: str, *given: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(database, autocommit=True) as connection:
            cursor = connection.execute(query, given)
            return cursor.fetchall() if cursor.description else []

    return run
