"""All that a server may have left somewhere: rows of every table of a database, and files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
from psycopg import sql

TABLES = """
SELECT n.nspname, c.relname
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'm') AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
"""


def tables_of(dsn: str) -> Iterator[tuple[str, bytes]]:
    """Yield each table's name and its rows, as bytes of their values, so that what is compressed on disk is found too.

    Afterwards all of it is in the server's files.
    """
    with psycopg.connect(dsn, autocommit=True) as connection:
        for schema, table in connection.execute(TABLES).fetchall():
            copy = sql.SQL("COPY (SELECT * FROM {}) TO STDOUT (FORMAT binary)").format(sql.Identifier(schema, table))
            with connection.cursor() as cursor, cursor.copy(copy) as rows:
                yield table, b"".join(bytes(row) for row in rows)
        connection.execute("CHECKPOINT")


def files_of(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield path and content of each file below `folder`, without the zeros that PostgreSQL fills its files up with."""
    for path in sorted(folder.rglob("*")):
        with suppress(FileNotFoundError):  # a running server removes what it no longer needs
            if path.is_file() and "__pycache__" not in path.parts:
                yield path, path.read_bytes().rstrip(b"\0")
