"""With a spill, a paused turn goes on wherever the answer arrives, and runs what was approved once."""

import threading
from contextlib import suppress
from dataclasses import replace

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from discreet.checkpoint import RedactingSaver, RedactingSyncSaver
from discreet.checkpoint.postgres_spill import PostgresSpill, SyncPostgresSpill
from discreet.errors import TransientStateLostError
from discreet.state.conversation import InputState
from discreet.testing import InMemoryKeys, InMemorySpill, PromptRefusedError


def parent(shop, inner):
    def make(saver):
        builder = StateGraph(InputState)
        builder.add_node("shop", shop.loop(inner))
        builder.add_edge(START, "shop")
        return builder.compile(checkpointer=saver)

    return make


SHAPES = {
    "loop": (lambda shop: shop.loop, "use:ask one"),
    "guarded": (lambda shop: shop.guarded, "gate:ask one"),
    "subgraph": (lambda shop: parent(shop, None), "use:ask one"),
    "stateful": (lambda shop: parent(shop, True), "use:ask one"),
}


@pytest.fixture(params=sorted(SHAPES))
def shape(request, shop):
    make, order = SHAPES[request.param]
    return make(shop), order


@pytest.fixture
async def spilled(rows):
    """Like `rows`, with a spill that all savers share."""
    probe, keys, memory = rows.open(), InMemoryKeys(), InMemorySpill()
    if isinstance(probe.inner, InMemorySaver):
        kind = RedactingSyncSaver if rows.sync else RedactingSaver
        return replace(rows, open=lambda: kind(probe.inner, spill=memory.sync if rows.sync else memory))
    pool = probe.inner.conn
    spill = (SyncPostgresSpill if rows.sync else PostgresSpill)(pool, keys)
    if rows.sync:
        spill.setup()
    else:
        await spill.setup()

    def make():
        saver = rows.open()
        return type(saver)(saver.inner, spill=spill)

    return replace(rows, open=make)


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("earlier", [0, 1])
async def test_an_answer_on_another_replica_reaches_the_question(spilled, shop, shape, durability, earlier):
    make, order = shape
    here, there = spilled.talk(make), spilled.talk(make)
    for _ in range(earlier):
        await here.invoke(shop.say("first one"), **durability)
        await there.invoke(shop.say("first one"), **durability)
    paused = await here.invoke(shop.say(order), **durability)
    assert [i.value for i in (await there.state()).interrupts] == [i.value for i in paused["__interrupt__"]]
    result = await there.invoke(Command(resume="yes"), **durability)
    assert "__interrupt__" not in result
    assert len([run for run in shop.runs if run.endswith(" yes")]) == 1
    expected = await there.texts()
    assert await here.texts() == expected
    assert await spilled.talk(make).texts() == expected
    with pytest.raises(TransientStateLostError):
        await here.invoke(Command(resume="yes"), **durability)
    await here.invoke(shop.say("next one"), **durability)
    assert shop.model.refused == 0


@pytest.mark.fast_cases(2)
async def test_questions_one_after_the_other_are_answered_on_changing_replicas(spilled, shop, durability):
    here, there = spilled.talk(shop.loop), spilled.talk(shop.loop)
    await here.invoke(shop.say("use:ask_twice one"), **durability)
    second = await there.invoke(Command(resume="yes"), **durability)
    assert [i.value for i in second["__interrupt__"]] == ["raw second"]
    assert [i.value for i in (await here.state()).interrupts] == ["raw second"]
    await here.invoke(Command(resume="no"), **durability)
    assert shop.runs == ["ask_twice ['yes', 'no']"]
    assert await there.texts() == await here.texts()


def beside(shop):
    """Two nodes ask while a third works."""

    def make(saver):
        builder = StateGraph(InputState)
        builder.add_node("left", lambda state: shop.runs.append(f"left {interrupt('left?')}"))
        builder.add_node("right", lambda state: shop.runs.append(f"right {interrupt('right?')}"))
        builder.add_node("note", lambda state: shop.runs.append("note"))
        for name in ("left", "right", "note"):
            builder.add_edge(START, name)
        return builder.compile(checkpointer=saver)

    return make


@pytest.mark.fast_cases(3)
async def test_parallel_questions_are_answered_on_changing_replicas(spilled, shop, durability):
    make = beside(shop)
    here, there = spilled.talk(make), spilled.talk(make)
    paused = await here.invoke(shop.say("both"), **durability)
    asked = {question.value: question.id for question in paused["__interrupt__"]}
    first = await there.invoke(Command(resume={asked["left?"]: "yes"}), **durability)
    assert [question.value for question in first["__interrupt__"]] == ["right?"]
    await here.invoke(Command(resume={asked["right?"]: "no"}), **durability)
    assert sorted(shop.runs) == ["left yes", "note", "right no"]
    assert len(await there.texts()) == 1
    assert await there.texts() == await here.texts()


@pytest.mark.fast_cases(3)
async def test_a_new_message_elsewhere_ends_the_pause_everywhere(spilled, shop, shape, durability):
    make, order = shape
    here, there = spilled.talk(make), spilled.talk(make)
    await here.invoke(shop.say(order), **durability)
    with suppress(PromptRefusedError):  # where tool calls wait for their results: the first message meets them
        await there.invoke(shop.say("moved on"), **durability)
    await there.invoke(shop.say("moved on"), **durability)
    for talk in (here, there, spilled.talk(make)):
        with pytest.raises(TransientStateLostError):
            await talk.invoke(Command(resume="yes"), **durability)
    assert [run for run in shop.runs if run != "note"] == []
    assert shop.model.refused <= 1


@pytest.mark.fast_cases(2)
async def test_a_copied_thread_is_paused_too(spilled, shop, durability):
    here, there = spilled.talk(shop.loop), spilled.talk(shop.loop)
    await here.invoke(shop.say("use:ask one"), **durability)
    await spilled.on_saver(there.graph.checkpointer, "copy_thread")("1", "2")
    other = {"configurable": {"thread_id": "2"}}
    await spilled.talk(shop.loop).invoke(Command(resume="yes"), other, **durability)
    assert shop.runs == ["ask yes"]
    await spilled.talk(shop.loop).invoke(Command(resume="no"), **durability)
    assert shop.runs == ["ask yes", "ask no"]


@pytest.mark.fast_cases(2)
async def test_a_deleted_thread_leaves_nothing_to_resume(spilled, shop):
    here = spilled.talk(shop.loop)
    await here.invoke(shop.say("use:ask one"))
    await spilled.on_saver(here.graph.checkpointer, "delete_thread")("1")
    assert (await spilled.talk(shop.loop).state()).values == {}


@pytest.mark.fast_cases(2)
async def test_an_update_of_the_state_of_a_pause_is_seen_elsewhere(spilled, shop, durability):
    here, there = spilled.talk(shop.loop), spilled.talk(shop.loop)
    await here.invoke(shop.say("use:ask one"), **durability)
    await there.update({"messages": [HumanMessage("update it")]}, as_node="model")
    assert (await there.texts())[-1] == "h:update it"


@pytest.mark.fast_cases(2)
async def test_an_answer_may_name_the_checkpoint(spilled, shop, durability):
    here, there = spilled.talk(shop.loop), spilled.talk(shop.loop)
    await here.invoke(shop.say("use:ask one"), **durability)
    asked = (await here.state()).config
    await there.invoke(Command(resume="yes"), asked, **durability)
    assert shop.runs == ["ask yes"]


@pytest.mark.fast_cases(3)
async def test_what_finishes_beside_a_question_does_not_run_again_elsewhere(spilled, shop, durability, monkeypatch):
    asked = threading.Event()

    def late(state):
        assert asked.wait(60)
        shop.runs.append("late")

    def make(saver):
        builder = StateGraph(InputState)
        builder.add_node("ask", lambda state: shop.runs.append(f"ask {interrupt('sure?')}"))
        builder.add_node("late", late)
        builder.add_edge(START, "ask")
        builder.add_edge(START, "late")
        return builder.compile(checkpointer=saver)

    here, there = spilled.talk(make), spilled.talk(make)
    save = here.graph.checkpointer.spill.save

    def watched(*given, **kept):
        asked.set()
        return save(*given, **kept)

    async def awatched(*given, **kept):
        return await watched(*given, **kept)

    with monkeypatch.context() as patch:
        patch.setattr(here.graph.checkpointer.spill, "save", watched if spilled.sync else awatched)
        if durability == {"durability": "exit"}:
            asked.set()  # nothing is spilled before the end
        await here.invoke(shop.say("both"), **durability)
    await there.invoke(Command(resume="yes"), **durability)
    assert sorted(shop.runs) == ["ask yes", "late"]
