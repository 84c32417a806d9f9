"""A thread deleted while a run of it is under way stays deleted, and the next run on its id keeps everything."""

from __future__ import annotations

import asyncio
import threading
from uuid import uuid4

import psycopg
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from discreet.errors import TransientStateLostError
from discreet.testing import InMemorySpill, PromptRefusedError

TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "checkpoint_messages", "checkpoint_spill")


@pytest.fixture
def stored(request):
    """Return how many rows there are of the thread, where rows can be counted."""

    def count():
        if "memory" in request.node.callspec.params["rows"]:
            return 0
        with psycopg.connect(request.getfixturevalue("database")) as connection:
            tables = [table for table in TABLES if connection.execute("SELECT to_regclass(%s)", (table,)).fetchone()[0]]
            found = [connection.execute(f"SELECT count(*) FROM {table} WHERE thread_id = '1'") for table in tables]
            return sum(cursor.fetchone()[0] for cursor in found)

    return count


@pytest.fixture
def dropped(deleter, stored):
    """Return both: who deletes, and what counts the rows."""
    return deleter, stored


class Held:
    """A turn that waits in its tool until it is let go."""

    def __init__(self, talk, shop, durability, text="use:note first"):
        self.entered, self.go = threading.Event(), threading.Event()
        self.shop = shop
        shop.in_tool = self._wait
        self.turn = asyncio.create_task(self._run(talk, shop.say(text), durability))

    async def _run(self, talk, given, durability):
        if talk.sync:
            return await asyncio.to_thread(talk.graph.invoke, given, talk.config, **durability)
        return await talk.invoke(given, **durability)

    def _wait(self):
        if threading.current_thread() is not threading.main_thread() and not self.entered.is_set():
            self.entered.set()
            self.go.wait(20)

    async def enter(self):
        await asyncio.to_thread(self.entered.wait, 20)
        assert self.entered.is_set()

    async def finish(self):
        self.go.set()
        return await self.turn


@pytest.fixture(params=["here", "elsewhere"])
def deleter(request, rows):
    """Return what makes the saver that deletes: the run's own, or that of another process if rows in memory had one."""
    return lambda saver: saver if request.param == "here" or in_memory(saver) else rows.open()


def in_memory(saver):
    return isinstance(saver.inner, InMemorySaver)


async def by(rows, saver, name, *args, **options):
    method = getattr(saver, name if rows.sync else f"a{name}")
    return await asyncio.to_thread(method, *args, **options) if rows.sync else await method(*args, **options)


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("turns", [0, 1])
async def test_what_a_run_stores_after_deletion_is_dropped(rows, shop, durability, dropped, turns):
    saver = rows.open()
    talk = rows.talk(shop.loop, saver)
    for _ in range(turns):
        await talk.invoke(shop.say("hello there"), **durability)
    held = Held(talk, shop, durability)
    await held.enter()
    deleter, stored = dropped
    await by(rows, deleter(saver), "delete_thread", "1")
    result = await held.finish()
    assert result["messages"][-1].text == "answer to use:note first after 1 results"
    assert (await talk.texts(), await talk.history(), stored()) == ([], [], 0)
    assert await rows.talk(shop.loop).texts() == []
    await talk.invoke(shop.say("hello again"), **durability)
    assert await talk.texts() == ["h:hello again", "a:answer to"]


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("again", ["same", "another"])
async def test_a_new_run_beside_the_late_one_keeps_everything(rows, shop, durability, deleter, again):
    saver = rows.open()
    talk = rows.talk(shop.loop, saver)
    held = Held(talk, shop, durability)
    await held.enter()
    await by(rows, deleter(saver), "delete_thread", "1")
    new = talk if again == "same" or in_memory(saver) else rows.talk(shop.loop)
    await new.invoke(shop.say("use:note anew"), **durability)
    await held.finish()
    expected = ["h:use:note anew", "a:answer to"]
    assert await new.texts() == expected
    assert await talk.texts() == expected
    await talk.invoke(shop.say("and now"), **durability)
    for texts in (await talk.texts(), await rows.talk(shop.loop).texts()):
        assert texts == [*expected, "h:and now", "a:answer to"]


@pytest.mark.fast_cases(2)
async def test_a_deleted_thread_begins_anew_at_once_again_and_again(rows, shop, durability, deleter):
    saver = rows.open()
    talks = [rows.talk(shop.loop, saver), rows.talk(shop.loop, saver if in_memory(saver) else None)]
    for number in range(4):
        talk = talks[number % 2]
        await talk.invoke(shop.say(f"turn {number} use:note"), **durability)
        await talk.invoke(shop.say("more use:note"), **durability)
        for reading in talks:
            assert await reading.texts() == [f"h:turn {number}", "a:answer to", "h:more use:note", "a:answer to"]
        await by(rows, deleter(saver), "prune", ["1"], strategy="delete")
        for reading in talks:
            assert await reading.texts() == []


@pytest.mark.fast_cases(2)
async def test_an_open_turn_in_ram_is_not_seen_once_its_thread_was_deleted(rows, shop, deleter):
    talk = rows.talk(shop.loop, saver := rows.open())
    await talk.invoke(shop.say("use:ask one"))
    await by(rows, deleter(saver), "delete_thread", "1")
    other = rows.talk(shop.loop)
    assert await other.texts() == []
    await other.invoke(shop.say("anew here"))
    await talk.invoke(shop.say("and here"))
    assert await talk.texts() == ["h:anew here", "a:answer to", "h:and here", "a:answer to"]


@pytest.mark.fast_cases(3)
async def test_a_late_pause_waits_for_nobody(rows, shop, durability, deleter, stored):
    saver = rows.open()
    talk = rows.talk(shop.loop, saver)
    held = Held(talk, shop, durability, "use:note use:ask first")
    await held.enter()
    await by(rows, deleter(saver), "delete_thread", "1")
    await held.finish()
    assert (await talk.texts(), stored()) == ([], 0)
    with pytest.raises((TransientStateLostError, PromptRefusedError)):
        await talk.invoke(Command(resume="yes"), **durability)
    assert await talk.texts() == []
    assert "ask yes" not in shop.runs


@pytest.mark.parametrize("durability", ["sync", "exit"], indirect=True)
async def test_a_pause_spilled_while_its_thread_is_deleted_is_not_found(rows, shop, durability, deleter, monkeypatch):
    """The row comes right after the deletion has looked for it."""
    saver = rows.open()
    memory = InMemorySpill()
    saver.spill = memory.sync if rows.sync else memory
    saves = []
    save = memory.sync.save

    def late(thread_id, spilled, **kept):
        saves.append(thread_id)
        deleter(saver).delete_thread("1")
        return save(thread_id, spilled, **kept)

    async def alate(thread_id, spilled, **kept):
        saves.append(thread_id)
        await deleter(saver).adelete_thread("1")
        return save(thread_id, spilled, **kept)

    monkeypatch.setattr(saver.spill, "save", late if rows.sync else alate)
    talk = rows.talk(shop.loop, saver)
    await talk.invoke(shop.say("use:ask first"), **durability)
    assert set(saves) == {"1"}
    assert await memory.load("1") is None
    assert await talk.texts() == []


@pytest.mark.fast_cases(3)
async def test_a_run_that_was_deleted_while_under_way_leaves_nothing(rows, shop, durability):
    run = str(uuid4())
    saver = rows.open()
    talk = rows.talk(shop.loop, saver)
    await talk.invoke(shop.say("first one"), **durability)
    talk.config = {**talk.config, "run_id": run, "metadata": {"run_id": run}}
    held = Held(talk, shop, durability)
    await held.enter()
    await by(rows, saver, "delete_for_runs", [run])
    await held.finish()
    assert await talk.texts() == ["h:first one", "a:answer to"]


@pytest.mark.fast_cases(3)
async def test_what_is_stored_while_its_run_is_deleted_goes_too(rows, shop, durability, monkeypatch):
    """The row comes right after the deletion has looked for it."""
    run = str(uuid4())
    saver = rows.open()
    talk = rows.talk(shop.loop, saver)
    await talk.invoke(shop.say("first one"), **durability)
    talk.config = {**talk.config, "run_id": run, "metadata": {"run_id": run}}
    puts = []
    put, aput = saver.inner.put, saver.inner.aput

    def late(*args):
        puts.append(args)
        saver.delete_for_runs([run])
        return put(*args)

    async def alate(*args):
        puts.append(args)
        await saver.adelete_for_runs([run])
        return await aput(*args)

    monkeypatch.setattr(saver._durable, "put", late)
    monkeypatch.setattr(saver._durable, "aput", alate)
    await talk.invoke(shop.say("second one"), **durability)
    assert len(puts) == 1
    assert await talk.texts() == ["h:first one", "a:answer to"]


@pytest.mark.fast_cases(3)
async def test_a_dropped_write_is_told_once_and_without_its_words(rows, shop, durability, caplog):
    saver = rows.open()
    talk = rows.talk(shop.loop, saver)
    held = Held(talk, shop, durability)
    await held.enter()
    with caplog.at_level("INFO", "discreet"):
        await by(rows, saver, "delete_thread", "1")
        await held.finish()
    (record,) = [record for record in caplog.records if record.msg == "write_after_deletion"]
    assert record.thread_id == "1"
    assert shop.word not in caplog.text
