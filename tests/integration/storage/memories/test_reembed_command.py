"""`discreet reembed` moves everything to the embedding model of the settings and says what it did."""

from __future__ import annotations

import asyncio
import json
import sys

import psycopg
import pytest

from discreet.cli.reembed import run_reembed
from discreet.settings import Settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.testing import InMemoryKeys, StubEmbeddings

pytestmark = pytest.mark.slow


async def fill(dsn, keys=None):
    settings = Settings(reembed=False)
    async with open_storage(dsn, embeddings=StubEmbeddings(256), settings=settings, keys=keys) as storage:
        await storage.memories.save("ann", [MemoryRecord(text="Keeps two parrots"), MemoryRecord(text="Likes tea")])


@pytest.fixture(autouse=True)
def other_model(monkeypatch):
    module = sys.modules[run_reembed.__module__]  # the command of this name hides it in the package
    monkeypatch.setattr(module, "embedding_provider", lambda settings: StubEmbeddings(1536))


def test_it_embeds_all_rebuilds_the_index_and_sums_up(database, capsys):
    asyncio.run(fill(database))
    assert run_reembed(database, as_json=True, reindex=True) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary.pop("seconds") >= 0  # rounded to a tenth
    expected = {"space": "stub:words:1536", "rows": 2, "failures": 0, "left": 0, "reindexed": True}
    assert summary == expected
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT DISTINCT bit_length(sketch) FROM discreet.memory").fetchall() == [(1536,)]
    assert run_reembed(database, as_json=False, reindex=False) == 0
    assert capsys.readouterr().out.startswith("0 memories embedded by stub:words:1536")


def test_what_can_not_be_opened_is_left_and_told_by_the_exit_code(database, capsys):
    asyncio.run(fill(database, keys=InMemoryKeys()))
    assert run_reembed(database, as_json=True, reindex=False) == 1
    summary = json.loads(capsys.readouterr().out)
    assert (summary["rows"], summary["failures"], summary["left"]) == (0, 2, 2)
    assert "parrots" not in str(summary)
