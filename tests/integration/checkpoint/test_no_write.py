"""The first guarantee: no planted word reaches the disk, whatever becomes of the turn."""

import asyncio

import pytest
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.types import Command

from discreet.checkpoint import KEEP, REDACT, CheckpointPolicy, RedactingSaver, RedactingSyncSaver

POLICY = CheckpointPolicy(channels={"locale": REDACT})
DURABILITIES = ["sync", "async", "exit"]


def found_again(agent):
    return {agent.keep("user"), agent.keep("answer"), agent.keep("locale")}


def planted(agent):
    return agent.raw | {agent.email}


@pytest.mark.parametrize("durability", DURABILITIES)
async def test_nothing_planted_is_on_disk_after_async_turns(agent, empty_database, words_on_disk, durability):
    async with RedactingSaver.from_conn_string(empty_database, POLICY) as saver:
        await saver.setup()
        graph = agent.compile(saver)
        run = {"durability": durability}
        await graph.ainvoke(agent.say("use the tool"), agent.config("ok"), **run)
        with pytest.raises(LookupError):
            await graph.ainvoke(agent.say("tool, raise"), agent.config("raising"), **run)
        await graph.ainvoke(agent.say("go on"), agent.config("raising"), **run)
        with pytest.raises(LookupError):
            await graph.ainvoke(agent.say("tool, raise"), agent.config("left raising"), **run)
        await graph.ainvoke(agent.say("tool, pause"), agent.config("paused"), **run)
        await graph.ainvoke(agent.say("tool, pause"), agent.config("resumed"), **run)
        await graph.ainvoke(Command(resume=agent.plant("resume")), agent.config("resumed"), **run)
        await graph.aupdate_state(agent.config("ok"), {"note": agent.plant("update")}, as_node="memory_gate")
        assert words_on_disk(planted(agent)) == set()
        assert words_on_disk(found_again(agent)) == found_again(agent)


@pytest.mark.parametrize("durability", DURABILITIES)
def test_nothing_planted_is_on_disk_after_sync_turns(agent, empty_database, words_on_disk, durability):
    with RedactingSyncSaver.from_conn_string(empty_database, POLICY) as saver:
        saver.setup()
        graph = agent.compile(saver)
        run = {"durability": durability}
        graph.invoke(agent.say("use the tool"), agent.config("ok"), **run)
        with pytest.raises(LookupError):
            graph.invoke(agent.say("tool, raise"), agent.config("raising"), **run)
        graph.invoke(agent.say("tool, pause"), agent.config("paused"), **run)
        graph.invoke(Command(resume=agent.plant("resume")), agent.config("paused"), **run)
        graph.invoke(agent.say("tool, pause"), agent.config("left paused"), **run)
        assert words_on_disk(planted(agent)) == set()
        assert words_on_disk(found_again(agent)) == found_again(agent)


def test_the_search_finds_what_a_stock_saver_leaks(agent, empty_database, words_on_disk):
    with PostgresSaver.from_conn_string(empty_database) as saver:
        saver.setup()
        graph = agent.compile(saver)
        graph.invoke(agent.say("tool, pause"), agent.config("1"))
        graph.invoke(Command(resume=agent.plant("resume")), agent.config("1"))
        with pytest.raises(LookupError):
            graph.invoke(agent.say("tool, raise"), agent.config("2"))
    assert words_on_disk(planted(agent)) == planted(agent) - {agent.plant("tag")}


@pytest.mark.parametrize("durability", DURABILITIES)
async def test_a_subgraph_stores_nothing_of_the_state_it_is_handed(agent, empty_database, words_on_disk, durability):
    async with RedactingSaver.from_conn_string(empty_database, POLICY) as saver:
        await saver.setup()
        graph = agent.compile(saver, tools=agent.as_subgraph())
        await graph.ainvoke(agent.say("use the tool"), agent.config("1"), durability=durability)
        await graph.ainvoke(agent.say("tool, pause"), agent.config("2"), durability=durability)
        await graph.ainvoke(Command(resume=agent.plant("resume")), agent.config("2"), durability=durability)
        await graph.ainvoke(agent.say("tool, pause"), agent.config("3"), durability=durability)
        with pytest.raises(LookupError):
            await graph.ainvoke(agent.say("tool, raise"), agent.config("4"), durability=durability)
        assert words_on_disk(planted(agent)) == set()


async def test_a_kept_channel_is_stored_as_it_is_and_another_not_at_all(agent, empty_database):
    async with RedactingSaver.from_conn_string(empty_database, CheckpointPolicy(channels={"locale": KEEP})) as saver:
        await saver.setup()
        await agent.compile(saver).ainvoke(agent.say("hello"), agent.config("1"))
    async with RedactingSaver.from_conn_string(empty_database) as other:
        stored = await other.aget_tuple({"configurable": {"thread_id": "1"}})
    assert agent.email in stored.checkpoint["channel_values"]["locale"]
    assert "note" not in stored.checkpoint["channel_values"]


async def test_threads_run_concurrently_without_leaking(agent, empty_database, words_on_disk):
    async with RedactingSaver.from_conn_string(empty_database, POLICY) as saver:
        await saver.setup()
        graph = agent.compile(saver)
        results = await asyncio.gather(
            *(graph.ainvoke(agent.say(f"use the tool {n}"), agent.config(str(n))) for n in range(8))
        )
        assert all(f"use the tool {n} " in result["messages"][0].text for n, result in enumerate(results))
        assert words_on_disk(planted(agent)) == set()
