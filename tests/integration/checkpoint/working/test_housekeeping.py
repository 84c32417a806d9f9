"""Copying, pruning and deleting threads, in both tiers."""

import asyncio
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from langgraph.types import Command

from discreet.errors import TransientStateLostError
from discreet.testing import PromptRefusedError

COPY = {"configurable": {"thread_id": "2"}}
THREAD = {"configurable": {"thread_id": "1"}}
ROWS = ["postgres:async", "postgres:sync"]
"""LangGraph's saver in memory can neither copy nor prune."""


@pytest.fixture
async def saver(rows):
    return rows.open()


@pytest.mark.slow
async def test_a_copy_has_the_history_and_goes_its_own_way(rows, saver, shop):
    talk = rows.talk(shop.loop, saver)
    await talk.invoke(shop.say("use:note one"))
    await rows.on_saver(saver, "copy_thread")("1", "2")
    await talk.invoke(shop.say("second here"))
    await talk.invoke(shop.say("second there"), COPY)
    assert await talk.texts() == ["h:use:note one", "a:answer to", "h:second here", "a:answer to"]
    assert await talk.texts(COPY) == ["h:use:note one", "a:answer to", "h:second there", "a:answer to"]
    assert await rows.talk(shop.loop).texts(COPY) == await talk.texts(COPY)


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("first", [THREAD, COPY], ids=["original-first", "copy-first"])
async def test_a_copy_of_a_pause_can_be_answered_on_its_own(rows, saver, shop, first):
    talk = rows.talk(shop.loop, saver)
    await talk.invoke(shop.say("first one"))
    await talk.invoke(shop.say("use:ask two"))
    await rows.on_saver(saver, "copy_thread")("1", "2")
    second = COPY if first is THREAD else THREAD
    await talk.invoke(Command(resume="yes"), first)
    assert shop.runs == ["ask yes"]
    assert (await talk.state(second)).next == ("tools",)
    await talk.invoke(Command(resume="no"), second)
    assert shop.runs == ["ask yes", "ask no"]
    for config in (THREAD, COPY):
        assert await talk.texts(config) == ["h:first one", "a:answer to", "h:use:ask two", "a:answer to"]


async def test_a_copy_of_a_pause_on_another_replica_is_refused(rows, saver, shop):
    talk = rows.talk(shop.loop, saver)
    await talk.invoke(shop.say("use:ask two"))
    await rows.on_saver(saver, "copy_thread")("1", "2")
    with pytest.raises(TransientStateLostError):
        await rows.talk(shop.loop).invoke(Command(resume="yes"), COPY)
    assert shop.runs == []


async def test_pruning_keeps_the_newest_state(rows, saver, shop):
    talk = rows.talk(shop.loop, saver)
    for turn in range(3):
        await talk.invoke(shop.say(f"turn {turn} use:note"))
    before = await talk.texts()
    await rows.on_saver(saver, "prune")(["1"])
    assert await talk.texts() == before
    assert len(await talk.history()) == 1
    await talk.invoke(shop.say("and now"))
    assert await talk.texts() == [*before, "h:and now", "a:answer to"]
    assert await rows.talk(shop.loop).texts() == await talk.texts()


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("turns", [1, 2, 9])
async def test_pruning_keeps_so_many_turns(rows, saver, shop, durability, turns):
    talk = rows.talk(shop.loop, saver)
    for turn in range(3):
        await talk.invoke(shop.say(f"turn {turn} use:note"), **durability)
    before, history = await talk.texts(), await talk.history()
    await rows.on_saver(saver, "prune")(["1"], turns=turns)
    assert await talk.texts() == before
    kept = await talk.history()
    a_turn = len(history) // 3
    assert [state.config for state in kept] == [state.config for state in history[: a_turn * turns]]
    assert (kept[-1].parent_config is None) or turns == 9
    for state, whole in zip(kept, history, strict=False):
        assert state.values == whole.values
    await talk.invoke(shop.say("and now"), **durability)
    assert await rows.talk(shop.loop).texts() == [*before, "h:and now", "a:answer to"]


async def test_the_async_savers_blocking_methods_do_the_same(asynchronous, shop):
    saver = asynchronous.open()
    talk = asynchronous.talk(shop.loop, saver)
    for turn in range(2):
        await talk.invoke(shop.say(f"turn {turn} use:note"))
    await asyncio.to_thread(saver.prune, ["1"], turns=1)
    assert len(await talk.history()) == 2
    await asyncio.to_thread(saver.delete_thread, "1")
    assert await asyncio.to_thread(talk.graph.invoke, shop.say("anew here"), talk.config)
    assert await talk.texts() == ["h:anew here", "a:answer to"]


async def test_pruning_drops_what_is_older(rows, saver, shop):
    talk = rows.talk(shop.loop, saver)
    for turn in range(3):
        await talk.invoke(shop.say(f"turn {turn} use:note"))
    before, history = await talk.texts(), await talk.history()
    await rows.on_saver(saver, "prune")(["1"], before=datetime.fromisoformat(history[2].created_at))
    assert [state.config for state in await talk.history()] == [state.config for state in history[:3]]
    await rows.on_saver(saver, "prune")(["1"], before=datetime.now(UTC))
    assert [state.config for state in await talk.history()] == [history[0].config]
    assert await talk.texts() == before


async def test_options_that_cannot_be_meant_prune_nothing(rows, saver, shop):
    talk = rows.talk(shop.loop, saver)
    await talk.invoke(shop.say("first one"))
    history = len(await talk.history())
    prune = rows.on_saver(saver, "prune")
    no_zone = {"before": datetime.now(UTC).replace(tzinfo=None)}
    for options in ({"turns": 0}, no_zone, {"strategy": "all"}, {"strategy": "delete", "turns": 1}):
        with pytest.raises(ValueError, match=r"turn|time zone|strategy"):
            await prune(["1"], **options)
    with pytest.raises(TypeError):
        await prune("1")
    assert len(await talk.history()) == history


async def test_pruning_a_pause_leaves_it_answerable(rows, saver, shop):
    talk = rows.talk(shop.loop, saver)
    await talk.invoke(shop.say("first one"))
    await talk.invoke(shop.say("use:ask two"))
    await rows.on_saver(saver, "prune")(["1"])
    await talk.invoke(Command(resume="yes"))
    assert shop.runs == ["ask yes"]
    assert await talk.texts() == ["h:first one", "a:answer to", "h:use:ask two", "a:answer to"]


async def test_pruning_with_delete_leaves_nothing(rows, saver, shop):
    talk = rows.talk(shop.loop, saver)
    await talk.invoke(shop.say("use:ask two"))
    await rows.on_saver(saver, "prune")(["1"], strategy="delete")
    assert (await talk.texts(), await talk.history()) == ([], [])


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("order", ["hello there", "use:ask two", "use:fail two"])
async def test_a_deleted_thread_is_gone_and_begins_anew(rows, saver, shop, order):
    talk = rows.talk(shop.loop, saver)
    await talk.invoke(shop.say("first one"))
    try:
        await talk.invoke(shop.say(order))
    except LookupError:
        assert "fail" in order
    await rows.on_saver(saver, "delete_thread")("1")
    assert (await talk.texts(), await talk.history()) == ([], [])
    assert await rows.talk(shop.loop).texts() == []
    await talk.invoke(shop.say("hello again"))
    assert await talk.texts() == ["h:hello again", "a:answer to"]


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("durability", ["sync", "async", "exit"], indirect=True)
async def test_an_answer_after_deletion_calls_no_tool_and_leaves_nothing(rows, saver, shop, durability):
    """Where there is no checkpoint, LangGraph begins at the start; only with durability "sync" does it wait for us."""
    talk = rows.talk(shop.loop, saver)
    await talk.invoke(shop.say("use:ask two"), **durability)
    await rows.on_saver(saver, "delete_thread")("1")
    waits = durability["durability"] == "sync"
    with pytest.raises(TransientStateLostError if waits else (TransientStateLostError, PromptRefusedError)):
        await talk.invoke(Command(resume="yes"), **durability)
    assert (shop.runs, await talk.texts()) == ([], [])
    await talk.invoke(shop.say("hello again"), **durability)
    assert await talk.texts() == ["h:hello again", "a:answer to"]


@pytest.mark.dialect
async def test_what_a_run_left_can_be_deleted(rows, saver, shop):
    runs = [str(uuid4()) for _ in range(3)]
    talk = rows.talk(shop.loop, saver)
    for number, run in enumerate(runs):
        await talk.invoke(shop.say(f"turn {number} use:note"), {**THREAD, "run_id": run, "metadata": {"run_id": run}})
    await rows.on_saver(saver, "delete_for_runs")(runs[2:])
    assert [text for text in await talk.texts() if text[0] == "h"] == ["h:turn 0", "h:turn 1"]
    await talk.invoke(shop.say("and now"))
    expected = ["h:turn 0", "h:turn 1", "h:and now"]
    assert [text for text in await talk.texts() if text[0] == "h"] == expected
    assert [text for text in await rows.talk(shop.loop).texts() if text[0] == "h"] == expected
    assert shop.model.refused == 0


async def test_the_run_of_a_pause_can_be_deleted(rows, saver, shop):
    run = str(uuid4())
    talk = rows.talk(shop.loop, saver)
    await talk.invoke(shop.say("first one"))
    await talk.invoke(shop.say("use:ask two"), {**THREAD, "run_id": run, "metadata": {"run_id": run}})
    await rows.on_saver(saver, "delete_for_runs")([run])
    assert await talk.texts() == ["h:first one", "a:answer to"]
    with pytest.raises(TransientStateLostError):
        await talk.invoke(Command(resume="yes"))
    assert shop.runs == []
