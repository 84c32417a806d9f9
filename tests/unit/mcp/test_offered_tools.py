"""What a client is told of the tools, and what it gets from them."""

import asyncio
import json
import logging

import pytest
from langsmith.utils import tracing_is_enabled
from mcp import MCPError

from discreet.access.actor import Actor, acting
from discreet.errors import StorageUnavailableError
from discreet.nodes.tools import memory_tool
from discreet.state.records import MemoryRecord

SECRET = "AKIA" + "2E0A8F3B244C9986"


def said(result):
    """Return what a result says, which is the same as text and as data."""
    (content,) = result.content
    assert json.loads(content.text) == result.structured_content
    return result.structured_content


def error(result):
    assert result.is_error
    return said(result)["error"]


def test_the_five_tools_are_described_for_a_model(offered):
    told = {tool.name: tool for tool in offered.described}
    assert list(told) == ["save_memory", "recall_memory", "update_memory", "forget_memory", "export_memories"]
    for tool in told.values():
        assert tool.title
        assert tool.description.endswith(".")
        assert tool.input_schema["type"] == "object"
        assert all(field["description"] for field in tool.input_schema["properties"].values())
        assert tool.annotations.open_world_hint is False


def test_no_argument_names_a_user(offered):
    for tool in offered.described:
        assert not {"user_id", "runtime", "user", "config"} & set(tool.input_schema["properties"])
        assert tool.input_schema["additionalProperties"] is False


def test_a_client_knows_what_only_looks_and_what_destroys(offered):
    hints = {tool.name: tool.annotations for tool in offered.described}
    assert [name for name, each in hints.items() if each.read_only_hint] == ["recall_memory", "export_memories"]
    assert [name for name, each in hints.items() if each.destructive_hint] == ["update_memory", "forget_memory"]


async def test_what_a_user_saves_they_find_and_nobody_else(offered):
    saved = said(await offered.call("save_memory", {"text": "Keeps two parrots"}, "ann"))
    assert saved["saved"]
    (found,) = said(await offered.call("recall_memory", {"query": "parrots"}, "ann"))["memories"]
    assert (found["entry_id"], found["text"]) == (saved["entry_id"], "Keeps two parrots")
    assert said(await offered.call("recall_memory", {"query": "parrots"}, "bob")) == {"memories": []}


async def test_a_user_corrects_and_forgets_their_own_alone(offered, memories):
    (record,) = await memories.save("ann", [MemoryRecord(text="Keeps two parrots")])
    wrong = {"entry_id": str(record.entry_id), "text": "Keeps three parrots"}
    assert said(await offered.call("update_memory", wrong, "bob"))["updated"] is False
    assert said(await offered.call("update_memory", wrong, "ann"))["text"] == "Keeps three parrots"
    gone = {"entry_id": str(record.entry_id)}
    assert said(await offered.call("forget_memory", gone, "bob"))["deleted"] is False
    assert said(await offered.call("forget_memory", gone, "ann"))["deleted"] is True
    assert await memories.latest("ann") == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Write to ann@example.com about parrots", "Write to <EMAIL> about parrots"),
        ("Tôi ở Hà Nội, email lan@example.com", "Tôi ở Hà Nội, email <EMAIL>"),
        ("Мой адрес olga@example.com", "Мой адрес <EMAIL>"),
        ("我的邮箱是 wang@example.com", "我的邮箱是 <EMAIL>"),
    ],
)
async def test_personal_values_are_masked_in_what_is_kept_and_in_what_comes_back(offered, text, kept):
    assert said(await offered.call("save_memory", {"text": text}, "ann"))["text"] == kept


async def test_a_secret_is_refused_as_everywhere(offered, memories):
    told = error(await offered.call("save_memory", {"text": f"My key is {SECRET}"}, "ann"))
    assert (told["code"], told["retryable"]) == ("memory_secret", False)
    assert SECRET not in str(told)
    assert await memories.latest("ann") == []


@pytest.mark.parametrize("name", ["user_id", "runtime", "config", "default_user", "store"])
async def test_an_argument_that_no_tool_has_is_refused(offered, memories, name):
    told = error(await offered.call("save_memory", {"text": "Keeps parrots", name: "bob"}, "ann"))
    assert told["code"] == "invalid_arguments"
    assert await memories.latest("bob") == await memories.latest("ann") == []


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("save_memory", {}),
        ("save_memory", {"text": "word " * 4_000}),
        ("save_memory", {"text": 5}),
        ("save_memory", {"text": "x", "importance": 99}),
        ("save_memory", {"text": "x", "tags": [{"deep": []}]}),
        ("recall_memory", {"query": "word " * 4_000}),
        ("recall_memory", {"query": "x", "limit": -1}),
        ("update_memory", {"entry_id": "none", "text": "x"}),
        ("export_memories", {"after": "x" * 20_000}),
    ],
)
async def test_what_a_schema_does_not_take_is_an_error_that_repeats_nothing(offered, name, arguments):
    told = error(await offered.call(name, arguments, "ann"))
    assert (told["code"], told["retryable"]) == ("invalid_arguments", False)
    assert len(told["message"]) < 200


@pytest.mark.parametrize("text", ["\x00", "\ud800", "a\x00b", "  ", "\u202e﷽ " * 20, "💥" * 1_000])
async def test_odd_texts_are_kept_or_refused_and_never_break_anything(offered, text):
    result = await offered.call("save_memory", {"text": text}, "ann")
    assert result.is_error or said(result)["saved"]


async def test_forgetting_says_what_it_needs(offered):
    assert error(await offered.call("forget_memory", {}, "ann"))["code"] == "forget_unclear"


async def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(offered):
    with pytest.raises(MCPError, match="recall_memory"):
        await offered.call("drop_tables", {}, "ann")


async def test_a_database_that_is_away_costs_the_call_alone(offered, memories, monkeypatch):
    async def away(*_args, **_more):
        raise StorageUnavailableError

    with monkeypatch.context() as broken:
        broken.setattr(memories, "save", away)
        told = error(await offered.call("save_memory", {"text": "Keeps parrots"}, "ann"))
    assert (told["code"], told["retryable"]) == ("storage_unavailable", True)
    assert not (await offered.call("save_memory", {"text": "Keeps parrots"}, "ann")).is_error


async def test_memories_that_hang_are_not_waited_for(offered, memories, monkeypatch):
    async def hang(*_args, **_more):
        await asyncio.sleep(60)

    monkeypatch.setattr(memory_tool, "WAIT_SECONDS", 0.05)
    monkeypatch.setattr(memories, "search", hang)
    assert error(await offered.call("recall_memory", {"query": "x"}, "ann"))["code"] == "storage_unavailable"


async def test_an_unknown_failure_tells_its_class_and_no_word_of_it(offered, memories, monkeypatch):
    async def fail(*_args, **_more):
        raise LookupError("host=10.0.0.1 password=hunter2")

    monkeypatch.setattr(memories, "search", fail)
    told = error(await offered.call("recall_memory", {"query": "x"}, "ann"))
    assert (told["code"], told["message"]) == ("tool_failed", "The tool failed: LookupError.")


async def test_a_call_that_is_cancelled_stays_cancelled(offered, memories, monkeypatch):
    begun = asyncio.Event()

    async def hang(*_args, **_more):
        begun.set()
        await asyncio.sleep(60)

    monkeypatch.setattr(memories, "save", hang)
    call = asyncio.create_task(offered.call("save_memory", {"text": "Keeps parrots"}, "ann"))
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_who_calls_too_often_is_told_when_to_call_again(offer):
    offered = offer(calls=2)
    for _ in range(2):
        assert not (await offered.call("recall_memory", {"query": "x"}, "ann")).is_error
    told = error(await offered.call("recall_memory", {"query": "x"}, "ann"))
    assert (told["code"], told["retryable"], told["retry_after_seconds"]) == ("call_limit", True, 30)
    assert not (await offered.call("recall_memory", {"query": "x"}, "bob")).is_error


async def test_many_calls_at_once_of_several_users(offered):
    users = [f"user{number}" for number in range(10)]
    await asyncio.gather(*(offered.call("save_memory", {"text": f"I am {user}"}, user) for user in users))
    found = await asyncio.gather(*(offered.call("recall_memory", {"query": "I am"}, user) for user in users))
    assert [[each["text"] for each in said(result)["memories"]] for result in found] == [[f"I am {u}"] for u in users]


async def test_no_log_line_has_what_was_said(offered, caplog):
    caplog.set_level(logging.DEBUG)
    await offered.call("save_memory", {"text": "Keeps zebrafinches"}, "ann")
    await offered.call("recall_memory", {"query": "zebrafinches"}, "ann")
    await offered.call("recall_memory", {"query": "x", "zebrafinches": "zebrafinches"}, "ann")
    assert "mcp.call tool=save_memory" in caplog.text
    assert "zebrafinches" not in caplog.text


async def test_nothing_is_traced_whatever_the_environment_says(offered, memories, monkeypatch):
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    traced = []
    search = memories.search

    async def looking(*args, **more):
        traced.append(tracing_is_enabled())
        return await search(*args, **more)

    monkeypatch.setattr(memories, "search", looking)
    await offered.call("recall_memory", {"query": "x"}, "ann")
    assert traced == [False]


async def test_who_acts_is_known_inside_of_a_tool(offered, memories, monkeypatch):
    from discreet.access.actor import current_actor

    acted = []

    async def looking(*_args, **_more):
        acted.append(current_actor().kind)
        return []

    monkeypatch.setattr(memories, "search", looking)
    with acting(Actor(kind="mcp")):
        await offered.call("recall_memory", {"query": "x"}, "ann")
    assert acted == ["mcp"]
