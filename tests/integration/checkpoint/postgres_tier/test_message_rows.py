"""One row a message: stored once, shared by checkpoints, and read back as they were."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from discreet.checkpoint.messages import Chosen
from discreet.checkpoint.postgres import AsyncPostgresTier
from discreet.checkpoint.postgres.puts import ATTEMPTS
from discreet.errors import CheckpointError

COUNT = "SELECT count(*) FROM checkpoint_messages"
RUNS = "SELECT checkpoint -> 'message_rows' FROM checkpoints ORDER BY checkpoint_id"


async def test_messages_are_rows_and_everything_else_is_where_langgraph_keeps_it(tier, start, say, rows):
    thread = start(tier)
    value = say("hello", "hi")
    stored = await thread.put(value, note=["a"], count=1)
    found = await thread.load()
    assert found.checkpoint == {**stored, "channel_values": {"messages": value, "note": ["a"], "count": 1}}
    assert (found.config, found.parent_config, found.pending_writes) == (thread.config, None, [])
    assert rows("SELECT kind, content FROM checkpoint_messages ORDER BY position") == [("human", "hello"), ("ai", "hi")]
    assert rows("SELECT channel FROM checkpoint_blobs") == ["note"]
    assert rows("SELECT checkpoint -> 'channel_values' FROM checkpoints") == [{"count": 1}]


@pytest.mark.fast_cases(2)
async def test_a_growing_thread_stores_each_message_once(tier, start, say, rows):
    thread, value = start(tier), []
    for number in range(12):
        value = [*value, *say(f"question {number}", f"answer {number}")]
        await thread.put(value)
    assert rows(COUNT) == [24]
    assert rows(RUNS)[-1] == [["messages", 0, 23]]
    assert await thread.read() == value
    listed = [item async for item in tier.alist(thread.latest)]
    assert [len(item.checkpoint["channel_values"]["messages"]) for item in listed] == [*range(24, 0, -2)]


@pytest.mark.fast_cases(3)
async def test_a_process_that_has_read_nothing_recognises_the_parents_messages(tier, another, start, say, rows):
    thread = start(another)
    await thread.put(first := say("a", "b"))
    reloaded = [type(message)(message.content, id=message.id) for message in first]
    await thread.put([*reloaded, *say("c")], tier=tier)
    assert (rows(COUNT), rows(RUNS)[-1]) == ([3], [["messages", 0, 2]])


@pytest.mark.fast_cases(3)
async def test_edits_share_what_they_did_not_touch(tier, start, say, rows):
    thread = start(tier)
    await thread.put(before := say("a", "b", "c", "d"))
    first = thread.config
    changed = HumanMessage("other", id=before[2].id)
    await thread.put(after := [before[0], before[1], changed, before[3]])
    await thread.put(shorter := after[2:])
    assert rows(COUNT) == [5]
    assert rows(RUNS)[1:] == [
        [["messages", 0, 1], ["messages", 4, 4], ["messages", 3, 3]],
        [["messages", 4, 4], ["messages", 3, 3]],
    ]
    assert await thread.read() == shorter
    assert await thread.read(first) == before


async def test_branches_do_not_overwrite_each_other(tier, another, start, say, rows):
    here, there = start(tier), start(another)
    await here.put(base := say("a", "b"))
    there.config = here.config
    await there.read()  # so that it knows the parent, and the number that it takes for the next one
    await here.put(left := [*base, *say("left")])
    await there.put(right := [*base, *say("right")])
    assert await here.read(here.config) == left
    assert await here.read(there.config) == right
    assert rows(COUNT) == [4]


async def test_many_puts_at_once_all_find_a_place(tier, start, say, rows):
    thread = start(tier)
    await thread.put(base := say("a", "b"))
    branches = [start(tier) for _ in range(5)]
    values = [[*base, *say(f"branch {number}")] for number in range(len(branches))]
    for branch in branches:
        branch.config = thread.config
    await asyncio.gather(*(branch.put(value) for branch, value in zip(branches, values, strict=True)))
    for branch, value in zip(branches, values, strict=True):
        assert await branch.read(branch.config) == value
    assert rows(COUNT) == [2 + len(branches)]


async def test_a_put_that_is_repeated_changes_nothing(tier, another, start, say, rows):
    everything = "SELECT c.*::text, m.*::text FROM checkpoints c, checkpoint_messages m ORDER BY 1, 2"
    thread = start(tier)
    for value in ([], [*say("a")]):
        before = await thread.put([*value, *say("b")])
        stored = rows(everything)
        await tier.aput(*thread.last)
        await another.aput(*thread.last)
        assert rows(everything) == stored
        assert before["id"] == thread.config["configurable"]["checkpoint_id"]


async def test_messages_come_back_whole_though_another_process_deleted_their_parent(tier, another, start, say, rows):
    thread = start(tier)
    await thread.put(base := say("a", "b"), run_id=(run := str(uuid4())))
    await another.adelete_for_runs([run])
    await thread.put(value := [*base, *say("c")])
    assert await thread.read() == value
    assert rows(COUNT) == [3]


async def test_a_thread_in_which_others_are_always_faster_is_given_up(another, start, say, monkeypatch):
    thread = start(another)
    await thread.put(base := say("a"))
    asked = []

    async def nothing_stored(statement):
        asked.append(statement)
        return [{"checkpoint_id": None, "tops": [0]}] if "tops" in statement.sql else []

    monkeypatch.setattr(another, "_execute", nothing_stored)
    with pytest.raises(CheckpointError, match="not stored"):
        await thread.put([*base, *say("b")])
    assert len(asked) == 2 * ATTEMPTS - 1  # the first looks among rows that it knows


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize(
    "value",
    [[], Chosen.of([]), [AIMessage("a", response_metadata={"model": "m"})], [RemoveMessage(id="1")], "text", None],
    ids=["empty", "none chosen", "more than text", "a removal", "no list", "nothing"],
)
async def test_a_channel_may_turn_from_rows_to_anything_else_and_back(another, start, say, rows, value):
    thread = start(another)
    await thread.put(before := say("a", "b"))
    await thread.put(value)
    assert (await thread.load()).checkpoint["channel_values"]["messages"] == value
    await thread.put(before)
    assert await thread.read() == before
    assert rows(RUNS)[1] is None


async def test_what_is_no_longer_rows_gets_its_blob_even_if_its_version_is_not_new(another, start, say):
    thread = start(another)
    await thread.put(say("a"))
    config, made, metadata, versions = thread.last
    await another.aput(
        config, {**made, "id": empty_checkpoint()["id"], "channel_values": {"messages": []}}, metadata, {}
    )
    assert await thread.read() == []
    assert versions


@pytest.mark.dialect
async def test_only_the_named_channels_are_rows(open_tier, start, say, rows):
    tier = await open_tier(message_channels=("log", "talk"))
    thread = start(tier)
    log, talk, other = say("a", "b"), say("c"), say("d")
    await thread.put(other, log=log, talk=talk)
    await thread.put(other, log=[*log, *say("e")], talk=talk)
    values = (await thread.load()).checkpoint["channel_values"]
    assert (values["log"][:2], values["talk"], values["messages"]) == (log, talk, other)
    assert rows("SELECT channel, count(*) FROM checkpoint_messages GROUP BY 1 ORDER BY 1") == [("log", 3), ("talk", 1)]


async def test_namespaces_and_threads_have_rows_of_their_own(tier, start, say, rows):
    value = say("a", "b")
    for thread in (start(tier), start(tier, ns="node"), start(tier, "2")):
        await thread.put(value)
        assert await thread.read() == value
    assert rows(COUNT) == [6]


@pytest.mark.fast_cases(3)
@pytest.mark.dialect
async def test_a_stock_savers_thread_is_read_and_carried_on(tier, start, say, rows, another):
    stock = AsyncPostgresSaver(another.conn)
    thread = start(tier)
    old = [*say("a"), AIMessage("b", id="b", tool_calls=[{"name": "f", "args": {}, "id": "1"}])]
    await thread.put(old, tier=stock)
    assert await thread.read() == old
    await thread.put(new := [old[0], *say("c")])
    assert await thread.read() == new
    assert [len(item.checkpoint["channel_values"]["messages"]) async for item in tier.alist(None)] == [2, 2]
    assert rows(COUNT) == [2]


@pytest.mark.fast_cases(3)
async def test_one_message_can_be_erased_or_reworded_in_its_row(tier, start, say, rows):
    thread = start(tier)
    await thread.put(value := say("a", "b", "c", "d"))
    rows("DELETE FROM checkpoint_messages WHERE position = 3")
    rows("UPDATE checkpoint_messages SET content = '<EMAIL>' WHERE position = 0")
    found = await thread.read()
    assert [message.content for message in found] == ["<EMAIL>", "b", "c"]
    await thread.put([*found, *say("e")])
    assert [message.content for message in await thread.read()] == ["<EMAIL>", "b", "c", "e"]
    await thread.put([*value, *say("f")])
    assert rows("SELECT content FROM checkpoint_messages WHERE position = 4") == ["e"]


async def test_a_delta_channels_history_begins_with_its_rows(tier, start, say):
    thread = start(tier)
    await thread.put(value := say("a", "b"))
    await tier.aput_writes(thread.config, [("messages", "next"), ("note", "n")], "task")
    await thread.put(None, count=1)
    history = await tier.aget_delta_channel_history(config=thread.config, channels=["messages", "note"])
    assert history["messages"] == {"writes": [("task", "messages", "next")], "seed": value}
    assert history["note"] == {"writes": [("task", "note", "n")]}
    assert await tier.aget_delta_channel_history(config=thread.config, channels=[]) == {}


async def test_a_callers_list_may_change_without_the_rows(tier, start, say, rows):
    thread = start(tier)
    await thread.put(value := say("a", "b"))
    value.append(HumanMessage("never put"))
    read = await thread.read()
    read.clear()
    await thread.put([*await thread.read(), *say("c")])
    assert (len(await thread.read()), rows(COUNT)) == (3, [3])


@pytest.mark.slow
async def test_all_capabilities_conform(open_tier):
    @checkpointer_test(name="AsyncPostgresTier")
    async def saver():
        yield await open_tier()

    report = await validate(saver)
    assert [failure for result in report.results.values() for failure in result.failures or []] == []
    assert all(result.passed for result in report.results.values() if result.detected)
    assert AsyncPostgresTier.adelete_for_runs is not AsyncPostgresSaver.adelete_for_runs


async def test_ids_of_any_length_and_none_come_back(tier, start):
    thread = start(tier)
    value = [
        HumanMessage("a"),
        AIMessage("", id=""),
        AIMessage("1 2", id="ü😀\n1 2 human 3\n"),
        HumanMessage("ü\n'\"\\", id=str(uuid4()) * 20),
    ]
    await thread.put(value)
    assert await thread.read() == value
