"""Databases one migration behind: behaviour is tried with migrations of the test's own, whatever the released ones hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from discreet.storage.database.migrating import migrations
from discreet.storage.database.migrating.migration_files import released

THINGS = "CREATE TABLE discreet.thing (id integer PRIMARY KEY, name text)"


@pytest.fixture
def add_migrations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, str]], None]:
    """Return what lets this process know of more migrations: their SQL by name."""
    folder = tmp_path / "more_migrations"
    folder.mkdir()

    def add(more: dict[str, str]) -> None:
        for name, text in more.items():
            (folder / f"{name}.sql").write_text(text)
        monkeypatch.setattr(migrations, "released", lambda: [*released(), *released(folder)])

    return add


@pytest.fixture
def things(database: str) -> str:
    """Return the DSN of a migrated database that has a table `discreet.thing` of three rows besides."""
    with psycopg.connect(database) as connection:
        connection.execute(THINGS)
        connection.execute("INSERT INTO discreet.thing SELECT n, 'thing ' || n FROM generate_series(1, 3) n")
    return database
