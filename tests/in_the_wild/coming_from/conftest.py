"""A terminal in a folder of its own, whose `discreet` stores into a new database."""

from __future__ import annotations

from pathlib import Path

import pytest
from testkit.coming_from import Terminal


@pytest.fixture
def terminal(tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Return a terminal; the test itself sees the same database and data folder."""
    monkeypatch.setenv("DISCREET_POSTGRES_DSN", database)
    monkeypatch.setenv("DISCREET_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "160")
    return Terminal(tmp_path)
