"""The server that all contestants share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from discreet.storage.embedded import lease_server

SETTINGS = {"shared_buffers": "2GB", "max_wal_size": "4GB"}
"""As a server of its own would have them. With the embedded server's 128 MB each contestant would evict what the others
read, and the race would be one of copying pages. What a commit waits for is as PostgreSQL ships it."""


@contextmanager
def large_server(folder: Path) -> Iterator[str]:
    """Start the embedded server with `SETTINGS` and yield its DSN."""
    with lease_server(folder) as dsn, psycopg.connect(dsn, autocommit=True) as connection:
        for name, value in SETTINGS.items():
            connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
    with lease_server(folder) as dsn:
        yield dsn
