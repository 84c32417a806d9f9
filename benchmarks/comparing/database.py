"""A new database, and what it takes up."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

import psycopg

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
                "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace"
                " WHERE relkind = 'r' AND nspname !~ '^pg_' AND nspname <> 'information_schema'"
            ).fetchone()
        return Footprint(disk=row[0] if row else 0, wal=self._wal)


def _wal_position(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint").fetchone()
    return int(row[0]) if row else 0
