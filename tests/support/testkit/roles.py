"""Roles that own nothing, and those that the product makes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from discreet.storage.database.connecting.target import target_of
from discreet.storage.database.roles import RoleNames, apply_roles
from testkit.citus import CITUS_DSN

_connect = psycopg.connect
"""As it is before a plugin puts another in its place."""


@contextmanager
def role(dsn: str, *grants: str) -> Iterator[tuple[str, str]]:
    """Yield the name of a new role that may log in and has these rights, such as `SELECT ON a`, and a DSN as it."""
    name, password = f"role_{uuid4().hex}", uuid4().hex
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(name), sql.Literal(password))
        )
        try:
            for grant in grants:
                connection.execute(f"GRANT {grant} TO {name}")  # type: ignore[call-overload]  # of a test
            yield name, psycopg.conninfo.make_conninfo(dsn, user=name, password=password)
        finally:
            connection.execute(f"DROP OWNED BY {name} CASCADE; DROP ROLE {name}")  # type: ignore[call-overload]  # as above


@dataclass(frozen=True)
class Logins:
    """DSNs of one database."""

    owner: str
    app: str
    worker: str
    auditor: str
    analyst: str
    backup: str

    def name_them(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have the settings name this database, as its roles."""
        monkeypatch.setenv("DISCREET_POSTGRES_DSN", self.app)
        monkeypatch.setenv("DISCREET_POSTGRES_WORKER_DSN", self.worker)
        monkeypatch.setenv("DISCREET_POSTGRES_OWNER_DSN", self.owner)


def logins(dsn: str) -> Logins:
    """Make the roles of docs/roles.md in a migrated database, and let each of them log in."""
    names, password = RoleNames(), "of-a-test"
    asyncio.run(apply_roles(target_of(dsn), names=names))
    with _connect(dsn, autocommit=True) as connection:
        for name in names.all if CITUS_DSN else set(names.all) - {names.several}:  # whose nodes have it log in
            connection.execute(
                sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(name), sql.Literal(password))
            )
    made = (names.app, names.worker, names.auditor, names.analyst, names.backup)
    return Logins(dsn, *(as_role(dsn, name, password) for name in made))


def as_role(dsn: str, name: str, password: str) -> str:
    """Return the URL `dsn` for another role."""
    where = urlsplit(dsn)
    return where._replace(netloc=f"{name}:{password}@{where.netloc.rpartition('@')[2]}").geturl()
