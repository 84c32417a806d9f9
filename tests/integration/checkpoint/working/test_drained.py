"""A run that is drained, as servers do before they stop, goes on in the next process: what it has done is not done again."""

import os
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from testkit.scripts import ScriptProcess

from discreet.checkpoint import RedactingSaver, RedactingSyncSaver
from discreet.encryption import make_key, write_key
from discreet.testing import InMemoryKeys, InMemorySpill

WORKER = Path(__file__).with_name("draining.py")


def processes(rows):
    """Return what opens savers that share a spill, each like another process."""
    probe, keys, memory = rows.open(), InMemoryKeys(), InMemorySpill()
    kind = RedactingSyncSaver if rows.sync else RedactingSaver
    if isinstance(probe.inner, InMemorySaver):
        return lambda: kind(probe.inner, spill=memory.sync if rows.sync else memory)
    return lambda: kind.from_pool(probe.inner.conn, keys=keys)


async def drained(talk, shop, *, when, **options):
    """Run a turn until it is drained: while its tool works, or while the model is asked."""
    control, answer = RunControl(), shop.model.answer
    if when == "tool":
        shop.in_tool = control.request_drain
    else:
        shop.model.answer = lambda messages: control.request_drain() or answer(messages)
    with pytest.raises(GraphDrained):
        await talk.invoke(shop.say("use:note one"), control=control, **options)
    shop.model.answer, shop.in_tool = answer, lambda: None


@pytest.mark.fast_cases(4)
@pytest.mark.parametrize("when", ["tool", "model"])
@pytest.mark.parametrize("earlier", [0, 1])
async def test_a_drained_run_goes_on_once(rows, stock, shop, durability, when, earlier):
    open_saver, one = processes(rows), InMemorySaver()
    for open_each, talks in ((lambda: one, stock), (open_saver, rows)):
        shop.runs.clear()
        here, there = (talks.talk(shop.loop, open_each()) for _ in range(2))
        for _ in range(earlier):
            await here.invoke(shop.say("first one"), **durability)
        await drained(here, shop, when=when, **durability)
        done = ["note"] if when == "tool" else []
        assert shop.runs == done
        assert (await there.state()).next == (("model",) if when == "tool" else ("tools",))
        assert (await there.invoke(None, **durability))["messages"][-1].text.startswith("answer to")
        assert shop.runs == ["note"]
        assert (await there.state()).next == ()
        if talks is rows:
            assert await here.texts() == await there.texts() == await rows.talk(shop.loop, open_saver()).texts()
    assert shop.model.refused == 0


@pytest.mark.fast_cases(2)
async def test_a_new_message_after_a_drained_run_is_answered(rows, shop, durability):
    open_saver = processes(rows)
    await drained(rows.talk(shop.loop, open_saver()), shop, when="model", **durability)
    there = rows.talk(shop.loop, open_saver())
    await there.invoke(shop.say("something else"), **durability)
    assert (shop.runs, shop.model.refused) == ([], 0)
    assert (await there.texts())[-2:] == ["h:something else", "a:answer to"]


@pytest.mark.slow
async def test_a_drained_run_goes_on_in_a_real_process(database, tmp_path, durability):
    keyring = write_key(make_key())
    spends = tmp_path / "spent"
    environment = {
        **os.environ,
        "DISCREET_SPILL": "true",
        "DISCREET_ENCRYPTION_KEYS": keyring,
        "DISCREET_TEST_SPENT": str(spends),
    }
    for order in ("drain", "go on"):
        with ScriptProcess(WORKER, database, durability["durability"], order, environment=environment) as process:
            out = process.stdout.readline()
            assert out.strip() == {"drain": "drained", "go on": "answer to use:note"}[order], process.stderr.read()
    assert spends.read_text() == "note\n"
