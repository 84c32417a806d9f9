"""Roles that own nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import psycopg
from psycopg import sql


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
