"""A terminal in a folder of its own, whose `discreet` stores into a new database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from testkit.coming_from import Terminal

from discreet.testing import OpenAIServer, openai_server


@pytest.fixture
def terminal(tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Return a terminal; the test itself sees the same database and data folder."""
    monkeypatch.setenv("DISCREET_POSTGRES_DSN", database)
    monkeypatch.setenv("DISCREET_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "160")
    return Terminal(tmp_path)


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """Return the chat model of graphs that name none: a server, whose answers the test writes down."""
    with openai_server() as server:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("DISCREET_CHAT_MODEL", "openai:scripted")
        monkeypatch.setenv("DISCREET_EMBEDDING_MODEL", "local")
        yield server
