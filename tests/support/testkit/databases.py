"""One migrated database a worker, emptied between its tests; it is made anew after a test that changed more than rows.

What belongs to the whole server (roles and their settings, ALTER SYSTEM, replication slots) is not restored: a test takes it
away itself. Nor are statistics of ANALYZE: a test of a plan has a database of its own (`own_database`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg

_USERS_SCHEMAS = "nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema'"

_ALONE = """
SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
"""

_TABLES = f"""
SELECT nspname, relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
WHERE relkind = 'r' AND relpersistence <> 't' AND {_USERS_SCHEMAS} ORDER BY 1, 2
"""

# Each change of a catalogue's row gives it a new xmin, and each row that is gone is one less. What ANALYZE and VACUUM note in
# pg_class they write in place.
_CATALOGUES = (
    "pg_class",
    "pg_attribute",
    "pg_proc",
    "pg_trigger",
    "pg_constraint",
    "pg_policy",
    "pg_index",
    "pg_attrdef",
    "pg_rewrite",
    "pg_type",
    "pg_enum",
    "pg_description",
    "pg_default_acl",
    "pg_cast",
    "pg_operator",
    "pg_collation",
    "pg_ts_config",
    "pg_publication",
    "pg_event_trigger",
    "pg_statistic_ext",
    "pg_foreign_data_wrapper",
)
_SCHEMA = f"""
SELECT array[{", ".join(f"(SELECT (count(*), max(xmin::text::bigint))::text FROM {each})" for each in _CATALOGUES)},
    (SELECT (count(*), max(xmin::text::bigint))::text FROM pg_namespace WHERE {_USERS_SCHEMAS}),
    (SELECT (count(*), max(xmin::text::bigint))::text FROM pg_extension),
    (SELECT (count(*), max(xmin::text::bigint))::text FROM pg_db_role_setting),
    (SELECT (count(*), max(xmin::text::bigint))::text FROM pg_largeobject_metadata),
    (SELECT (datacl, datconnlimit)::text FROM pg_database WHERE datname = current_database()),
    (SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = current_database())]
"""

_RESTART_SEQUENCES = "SELECT setval(seqrelid, seqstart, false) FROM pg_sequence"  # also those that are set, but unused

MOST_BYTES = 100_000_000
"""A database that has grown over it is made anew: its dead rows would slow the tests after it."""


@contextmanager
def new_database(server_dsn: str, *, template: str) -> Iterator[str]:
    """Yield the DSN of a new database, dropped afterwards whoever is still connected. Making takes 55 ms, dropping 70 to 110."""
    name = f"test_{uuid4().hex}"
    with psycopg.connect(server_dsn, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        yield urlsplit(server_dsn)._replace(path=f"/{name}").geturl()
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


class WorkerDatabase:
    """A database of a template's schema that tests use in turn; `prepare` is done to it when it is made."""

    def __init__(self, server_dsn: str, template: str, prepare: Callable[[str], object] = lambda dsn: None) -> None:
        self._server_dsn, self._template, self._prepare = server_dsn, template, prepare
        self._open = ExitStack()
        self._dsn = ""

    @contextmanager
    def lend(self) -> Iterator[str]:
        """Yield its DSN while it has the template's rows and no others; afterwards nobody is connected and it has so again."""
        if not self._dsn:
            self._make()
        try:
            yield self._dsn
        finally:
            if not self._is_emptied():
                self.drop()

    def drop(self) -> None:
        """Drop it. The next one who asks gets a new one."""
        self._dsn = ""
        self._open.close()

    def _make(self) -> None:
        dsn = self._open.enter_context(new_database(self._server_dsn, template=self._template))
        self._prepare(dsn)
        with psycopg.connect(dsn, autocommit=True) as connection:
            self._schema = connection.execute(_SCHEMA).fetchone()
            self._tables = [f'"{schema}"."{name}"' for schema, name in connection.execute(_TABLES).fetchall()]
            self._are_filled = f"SELECT {', '.join(f'EXISTS (SELECT FROM {table})' for table in self._tables)}"
            filled = connection.execute(self._are_filled).fetchone() or ()
            self._kept = {
                table: _rows(connection, table) for table, holds in zip(self._tables, filled, strict=True) if holds
            }
        self._dsn = dsn

    def _is_emptied(self) -> bool:
        """Take away what a test left; False if it changed the schema or the database's own settings, or wrote too much."""
        try:
            with psycopg.connect(self._dsn, autocommit=True) as connection:
                connection.execute(_ALONE)
                if connection.execute(_SCHEMA).fetchone() != self._schema:
                    return False
                size = connection.execute("SELECT pg_database_size(current_database())").fetchone()
                if size is None or size[0] > MOST_BYTES:
                    return False
                connection.execute("SET session_replication_role = replica")  # without triggers and foreign keys
                filled = connection.execute(self._are_filled).fetchone() or ()
                for table, holds in zip(self._tables, filled, strict=True):
                    kept = self._kept.get(table)
                    if (kept is None and not holds) or (kept is not None and _rows(connection, table) == kept):
                        continue
                    connection.execute(f"DELETE FROM {table}")
                    if kept is not None:
                        with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
                            copy.write(kept)
                connection.execute(_RESTART_SEQUENCES)
        except psycopg.OperationalError:  # dropped by the test, closed for connections, read-only …
            return False
        return True


def _rows(connection: psycopg.Connection[tuple[object, ...]], table: str) -> bytes:
    with connection.cursor().copy(f"COPY {table} TO STDOUT") as copy:
        return b"".join(bytes(piece) for piece in copy)
