"""Databases for the two checkpointers, and what they take up."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

import psycopg
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from discreet.checkpoint import RedactingSaver, RedactingSyncSaver

CONNECTION: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
"""What LangGraph's savers ask of a pool's connections."""
POOL_SIZE = 10

STOCK = "stock"
OURS = "ours"
SIDES = (STOCK, OURS)

_numbers = itertools.count()


class Footprint(NamedTuple):
    """What a run has written."""

    disk: int
    """Bytes of all tables with their indexes and TOAST, after VACUUM."""
    wal: int
    """Bytes of WAL, with the server's default full_page_writes."""


class Database:
    """One new database on the server of `admin_dsn`."""

    def __init__(self, admin_dsn: str) -> None:
        self.name = f"bench_{next(_numbers)}"
        self.dsn = urlsplit(admin_dsn)._replace(path=f"/{self.name}").geturl()
        self._admin_dsn = admin_dsn
        self._wal = 0

    def __enter__(self) -> Self:
        with psycopg.connect(self._admin_dsn, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {self.name}")
        return self

    def __exit__(self, *_error: object) -> None:
        with psycopg.connect(self._admin_dsn, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {self.name} WITH (FORCE)")

    @contextmanager
    def writing(self, *, first: bool = True) -> Iterator[None]:
        """Count the WAL that is written meanwhile, by whomever; `first` after a checkpoint."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            if first:
                connection.execute("CHECKPOINT")
            start = _wal_position(connection)
            yield
            self._wal += _wal_position(connection) - start

    def footprint(self) -> Footprint:
        """Return what was written in `writing`, and what lies on the disk."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute("VACUUM")
            row = connection.execute(
                "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class"
                " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
            ).fetchone()
        return Footprint(disk=row[0] if row else 0, wal=self._wal)


@asynccontextmanager
async def open_saver(
    side: str, dsn: str, *, connections: int = POOL_SIZE
) -> AsyncIterator[AsyncPostgresSaver | RedactingSaver]:
    """Yield the async checkpointer of one side over a pool, its tables made."""
    size = {"min_size": connections, "max_size": connections}
    async with AsyncConnectionPool(dsn, **size, kwargs=CONNECTION, open=False) as pool:
        await pool.wait()
        saver = AsyncPostgresSaver(pool) if side == STOCK else RedactingSaver.from_pool(pool)
        await saver.setup()
        yield saver


@contextmanager
def open_sync_saver(side: str, dsn: str) -> Iterator[PostgresSaver | RedactingSyncSaver]:
    """Yield the sync checkpointer of one side over a pool, its tables made."""
    with ConnectionPool(dsn, min_size=2, max_size=POOL_SIZE, kwargs=CONNECTION, open=True) as pool:
        pool.wait()
        saver = PostgresSaver(pool) if side == STOCK else RedactingSyncSaver.from_pool(pool)
        saver.setup()
        yield saver


def _wal_position(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint").fetchone()
    return int(row[0]) if row else 0
