"""Turns and memories of users who are known by an e-mail address or a telephone number."""

from __future__ import annotations

import asyncio
import json

import pytest
from kit.search import in_rows
from langchain_core.messages import HumanMessage
from typer.testing import CliRunner

from discreet.access.identity import load_identities
from discreet.access.sensitive_ids import default_sensitive_ids
from discreet.cli import app
from discreet.errors import SensitiveIdError
from discreet.graph.compiled import compiled_graph
from discreet.settings import load_settings
from discreet.state.context import Context
from discreet.state.records import MemoryFilters, MemoryRecord
from discreet.storage import open_storage

EMAIL = "ann@example.com"
PHONE = "12025550143"


@pytest.fixture
def hashing(monkeypatch):
    """Have digests stand for sensitive ids."""
    monkeypatch.setenv("DISCREET_SENSITIVE_IDS", "hash")
    default_sensitive_ids.cache_clear()
    yield
    default_sensitive_ids.cache_clear()


async def say(graph, text, *, user=EMAIL, thread=PHONE):
    config = {"configurable": {"thread_id": thread}}
    state = await graph.ainvoke({"messages": [HumanMessage(text)]}, config, context=Context(user_id=user))
    return state["messages"][-1].text


async def test_a_turn_of_such_a_user_or_thread_is_refused(database):
    async with open_storage(database) as storage:
        graph = await compiled_graph(storage, chat_model="offline")
        with pytest.raises(SensitiveIdError, match="user_id"):
            await say(graph, "Hello", thread="t")
        with pytest.raises(SensitiveIdError, match="thread_id"):
            await say(graph, "Hello", user="ann")
        assert await storage.log.read("ann") == []


async def test_memories_of_such_a_user_or_thread_are_refused(database):
    async with open_storage(database) as storage:
        with pytest.raises(SensitiveIdError, match="user_id"):
            await storage.memories.save(EMAIL, [MemoryRecord(text="Keeps parrots")])
        with pytest.raises(SensitiveIdError, match="thread_id"):
            await storage.memories.save("ann", [MemoryRecord(text="Keeps parrots", thread_id=PHONE)])
        assert await storage.memories.search(EMAIL, "parrots") == []
        assert await storage.memories.delete_many(EMAIL, MemoryFilters()) == 0


@pytest.mark.slow
async def test_with_digests_everything_of_such_a_user_is_one_persons(database, hashing):
    async with open_storage(database) as storage:
        graph = await compiled_graph(storage, chat_model="offline")
        await say(graph, "I keep two African Grey parrots.")
        assert "African Grey parrots" in await say(graph, "Which birds do I have?", thread="another")
        identity = load_identities(load_settings()).of(EMAIL)
        mine = [await storage.memories.search(name, "parrots") for name in (identity, EMAIL)]
        assert mine[0] == mine[1] != []
        of_thread = await storage.memories.search(EMAIL, "parrots", filters=MemoryFilters(thread_id=PHONE))
        assert [each.record.thread_id for each in of_thread] == [default_sensitive_ids().thread_id(PHONE)]
        assert len(await storage.log.read(EMAIL, thread_id=PHONE)) == 1
        assert await storage.log.end_session(EMAIL, PHONE)
    assert in_rows(database, mail=EMAIL, phone=PHONE) == {}


@pytest.mark.slow
def test_what_is_kept_under_a_digest_is_exported_and_erased_by_the_address(database, hashing, tmp_path):
    async def fill():
        async with open_storage(database) as storage:
            await storage.memories.save(EMAIL, [MemoryRecord(text="Keeps two parrots")])

    asyncio.run(fill())
    exported = CliRunner().invoke(app, ["export", "--user", EMAIL, "--out", "-", "--dsn", database])
    assert "Keeps two parrots" in exported.stdout
    erased = CliRunner().invoke(app, ["erase", "--user", EMAIL, "--yes", "--json", "--dsn", database])
    assert erased.exit_code == 0
    assert EMAIL not in erased.output
    assert json.loads(erased.stdout)
    again = CliRunner().invoke(app, ["export", "--user", EMAIL, "--out", "-", "--dsn", database])
    assert "Keeps two parrots" not in again.stdout


@pytest.mark.slow
def test_where_they_are_refused_the_commands_look_all_the_same_and_say_so(database):
    counted = CliRunner().invoke(app, ["erase", "--user", EMAIL, "--dry-run", "--dsn", database])
    assert counted.exit_code == 0
    assert "Nothing new is stored under such ids" in counted.stderr
    assert "--subject" in counted.stderr
    as_caller = CliRunner().invoke(app, ["erase", "--user", EMAIL, "--subject", "--dry-run", "--dsn", database])
    assert "Nothing new is stored" not in as_caller.stderr
