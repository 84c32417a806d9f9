"""Where row-level security keeps users apart: the worker sees everybody, the application only whom it names."""

from __future__ import annotations

import pytest
from testkit.conflicts import plant_conflict
from testkit.conversations import talk
from testkit.roles import logins

from discreet.errors import StorageError
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

pytestmark = pytest.mark.direct("the roles log in themselves")


@pytest.fixture
def names(database, monkeypatch):
    found = logins(database)
    found.name_them(monkeypatch)
    return found


@pytest.mark.slow
@pytest.mark.dialect
async def test_an_administrators_pages_work_as_the_roles_of_a_server(names, database):
    async with open_storage(embeddings=StubEmbeddings(dims=64)) as storage:
        key = storage.background.key_of("ann")
        await talk(storage, "I keep two parrots", user="ann")
        older, newer = (MemoryRecord(text=text) for text in ("Ann is a vegetarian", "Ann eats fish"))
        await storage.memories.save("ann", [older, newer], dedup=False)
        plant_conflict(database, key, older, newer)
        [(_, person)] = await storage.people.active(limit=9)
        assert (person.user_key, person.memories, person.conflicts) == (key, 2, 1)
        assert {entry.kind for entry in await storage.people.timeline(key, limit=9)} == {"turn", "memory"}
        assert await storage.people.settle(key, older.entry_id, newer.entry_id, "newer")
        [kept] = await storage.people.memories.latest(str(key))
        assert kept.text == "Ann eats fish"
        assert [each.text for each in (await storage.people.chain(key, newer)).former] == ["Ann is a vegetarian"]


@pytest.mark.slow
async def test_without_the_workers_role_the_list_is_refused(names, monkeypatch):
    monkeypatch.delenv("DISCREET_POSTGRES_WORKER_DSN")
    async with open_storage(embeddings=StubEmbeddings(dims=64)) as storage:
        with pytest.raises(StorageError):
            await storage.people.active(limit=9)
