"""Tests run offline: with the embedded database, the local embedding model and the offline chat model."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from discreet.checkpoint import RedactingSaver
from discreet.storage import Storage, open_storage
from discreet.storage.embedded import lease_server
from your_assistant.graph import make_graph


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One embedded database for all tests: have each speak as users of its own."""
    folder = tmp_path_factory.mktemp("data")
    with lease_server(folder):
        yield folder


@pytest.fixture(autouse=True)
def own_environment(data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the settings of this folder and of whoever runs the tests."""
    for name in [each for each in os.environ if each.startswith(("DISCREET_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("DISCREET_DATA_DIR", str(data_folder))
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    monkeypatch.chdir(tmp_path)


@pytest_asyncio.fixture
async def storage() -> AsyncIterator[Storage]:
    """The database."""
    async with open_storage() as storage:
        yield storage


@pytest_asyncio.fixture
async def graph(storage: Storage) -> Any:
    """The graph, as a server runs it."""
    saver = RedactingSaver.from_storage(storage)
    await saver.setup()
    return make_graph(storage).compile(checkpointer=saver)
