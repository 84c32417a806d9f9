"""Open what a user names: a DSN of PostgreSQL, a file of SQLite, a folder or file of pickles."""

from __future__ import annotations

from pathlib import Path

from discreet.errors import ScanError
from discreet.scanning.databases.pickle_files import PickleFiles
from discreet.scanning.databases.postgres import PostgresDatabase
from discreet.scanning.databases.sqlite import SqliteDatabase, is_sqlite

Opened = PostgresDatabase | SqliteDatabase | PickleFiles


def open_database(where: str, *, writes: bool = False) -> Opened:
    """Open a database.

    Raises:
        ScanError: It is none, or can't be opened.
        StorageError: The server can't be reached.
    """
    path = Path(where.removeprefix("sqlite:///"))
    if where.startswith(("postgresql://", "postgres://")) or ("=" in where and not path.exists()):
        return PostgresDatabase(where, writes=writes)
    if path.is_file() and is_sqlite(path):
        return SqliteDatabase(path, writes=writes)
    if not path.exists():
        raise ScanError("This is neither a DSN (postgresql://…) nor a file or folder that is there.")
    return PickleFiles(path)
