"""What a source yields, as a list."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest

from discreet.importing.source import BadRow, LeftOutRow, Source, SourceRow


@pytest.fixture
def read():
    """Return what reads all rows of a source, and finds the marks in order and each row again after the one before."""

    async def read(source: Source, *, resumed: bool = True) -> list[SourceRow | BadRow | LeftOutRow]:
        rows = [row async for row in source.rows()]
        assert [row async for row in source.rows()] == rows
        for number, row in enumerate(rows if resumed else []):
            assert [later async for later in source.rows(after=row.mark)] == rows[number + 1 :]
        return rows

    return read


@pytest.fixture
async def connection(empty_database: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    async with await psycopg.AsyncConnection.connect(empty_database, autocommit=True) as connection:
        yield connection


@pytest.fixture
def reasons():
    def reasons(rows: list[Any]) -> list[str | None]:
        """Return why each row is bad, None for good ones."""
        return [row.reason if isinstance(row, BadRow) else None for row in rows]

    return reasons
