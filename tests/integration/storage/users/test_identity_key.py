"""A database belongs to the identity key that it was begun with."""

from __future__ import annotations

import base64

import pytest
from kit.search import in_rows

from discreet.errors import ConfigurationError
from discreet.settings import load_settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

EMBEDDINGS = StubEmbeddings(dims=64)
ANOTHER = base64.b64encode(bytes([1]) * 32).decode()


async def test_a_process_with_another_key_is_refused_and_told_what_to_set(database, monkeypatch):
    async with open_storage(database, embeddings=EMBEDDINGS) as storage:
        await storage.memories.save("ann", [MemoryRecord(text="Keeps parrots")])
    monkeypatch.setenv("DISCREET_IDENTITY_KEY", ANOTHER)
    with pytest.raises(ConfigurationError, match="DISCREET_IDENTITY_KEY"):
        async with open_storage(database, embeddings=EMBEDDINGS):
            pass
    monkeypatch.undo()


@pytest.mark.slow
async def test_the_key_in_the_data_folder_serves_a_second_start(database, monkeypatch):
    monkeypatch.delenv("DISCREET_IDENTITY_KEY")
    for _ in range(2):
        async with open_storage(database, embeddings=EMBEDDINGS) as storage:
            await storage.memories.save("ann", [MemoryRecord(text="Keeps parrots")])
    async with open_storage(database, embeddings=EMBEDDINGS) as storage:
        assert len(await storage.memories.latest("ann")) == 1


async def test_neither_the_key_nor_an_id_is_in_the_database(database, monkeypatch):
    monkeypatch.setenv("DISCREET_SENSITIVE_IDS", "hash")
    async with open_storage(database, embeddings=EMBEDDINGS) as storage:
        await storage.memories.save("ann@example.com", [MemoryRecord(text="Keeps parrots")])
    settings = load_settings()
    key = base64.b64decode(settings.identity_key.get_secret_value())
    found = in_rows(database, "parrots", mail="ann@example.com", hex=key.hex(), base64=base64.b64encode(key))
    assert found.keys() == {"parrots"}  # the search does find what is there
