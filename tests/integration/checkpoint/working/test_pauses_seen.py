"""Every process sees that a thread waits, and for which nodes; who can't answer there is told what would let them."""

import asyncio
from contextlib import suppress

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.func import entrypoint
from langgraph.types import Command, interrupt

from discreet.errors import TransientStateLostError
from discreet.testing import ScriptedChatModel


def agent(shop, saver):
    """An agent whose tool is called by a `Send`, and asks first."""
    ran = shop.runs

    @tool
    def pay(amount: str) -> str:
        """Pay."""
        ran.append(f"pay {interrupt({'amount': amount})}")
        return "paid"

    call = {"name": "pay", "args": {"amount": shop.raw("query")}, "id": "call-1"}
    answers = [AIMessage("let me pay", tool_calls=[call]), AIMessage("done")]
    return create_agent(ScriptedChatModel(responses=answers * 3), [pay], checkpointer=saver)


def looped(shop, saver):
    return shop.loop(saver)


def gated(shop, saver):
    return shop.guarded(saver)


SHAPES = {
    "agent": (agent, "pay please", "tools"),
    "loop": (looped, "use:ask one", "tools"),
    "gate": (gated, "gate:ask one", "gate"),
}


@pytest.fixture(params=sorted(SHAPES))
def shape(request, shop):
    make, order, node = SHAPES[request.param]
    return (lambda saver: make(shop, saver)), order, node


@pytest.mark.fast_cases(3)
async def test_another_process_shows_which_node_waits_and_the_question_by_its_id(rows, shop, shape, durability):
    make, order, node = shape
    here, there = rows.talk(make), rows.talk(make)
    paused = await here.invoke(shop.say(order), **durability)
    asked, seen = paused["__interrupt__"], await there.state()
    assert seen.next == (node,)
    assert [each.id for each in seen.interrupts] == [each.id for each in asked]
    assert [[each.id for each in task.interrupts] for task in seen.tasks] == [[each.id for each in asked]]
    assert {each.value for each in seen.interrupts} == {"[redacted]"}
    assert shop.raw("query") not in str(seen)
    assert [state.next for state in await there.history(limit=1)] == [(node,)]


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("by_id", [False, True])
async def test_an_answer_there_is_refused_and_the_error_names_the_switch(rows, shop, shape, durability, by_id):
    make, order, _ = shape
    paused = await rows.talk(make).invoke(shop.say(order), **durability)
    there = rows.talk(make)
    await there.state()
    answer = {paused["__interrupt__"][0].id: "yes"} if by_id else "yes"
    with pytest.raises(TransientStateLostError, match="DISCREET_SPILL"):
        await there.invoke(Command(resume=answer), **durability)
    assert shop.runs == []


@pytest.mark.fast_cases(3)
async def test_looking_lets_nothing_run_there(rows, shop, shape, durability):
    make, order, _ = shape
    await rows.talk(make).invoke(shop.say(order), **durability)
    there = rows.talk(make)
    state = await there.state()
    for given, config in ((None, None), (None, state.config)):
        with suppress(TransientStateLostError):
            await there.invoke(given, config, **durability)
    await there.update(None, as_node="__copy__")
    await there.invoke(None, **durability)
    assert shop.runs == []
    await there.invoke(shop.say("new one"), **durability)
    assert [m.text.split()[0] for m in (await there.state()).values["messages"] if m.type == "human"] == [
        order.split()[0],
        "new",
    ]
    assert shop.runs == []
    assert (await there.state()).next == () or order.startswith("pay")


@pytest.mark.slow
async def test_a_pause_whose_time_is_over_is_shown_no_more(rows, shop):
    await rows.talk(shop.loop, rows.open(pause_seconds=3)).invoke(shop.say("use:ask one"))
    assert (await rows.talk(shop.loop).state()).next == ("tools",)
    await asyncio.sleep(3)
    assert (await rows.talk(shop.loop).state()).next == ()


async def test_an_entrypoint_shows_that_it_waits(rows, shop):
    def make(saver):
        @entrypoint(checkpointer=saver)
        def flow(given):
            return [*given, AIMessage(interrupt("raw"))]

        return flow

    paused = await rows.talk(make).invoke([HumanMessage("hi", id="a")])
    seen = await rows.talk(make).state()
    assert [each.id for each in seen.interrupts] == [each.id for each in paused["__interrupt__"]]
    assert seen.next == ("flow",)
    with pytest.raises(TransientStateLostError):
        await rows.talk(make).invoke(Command(resume="yes"))


@pytest.mark.fast_cases(2)
async def test_the_same_message_sent_again_there_begins_its_turn_anew(rows, shop, durability):
    """The state says that its turn is not there: what was said beside the call is no answer."""
    message = HumanMessage(f"use:ask one {shop.word}", id="a")
    await rows.talk(shop.loop).invoke({"messages": [message]}, **durability)
    there = rows.talk(shop.loop)
    assert (await there.state()).metadata["unfinished"] is True
    again = await there.invoke({"messages": [HumanMessage(message.content, id="a")]}, **durability)
    assert "__interrupt__" in again
    assert "unfinished" not in (await there.state()).metadata
    result = await there.invoke(Command(resume="yes"), **durability)
    assert shop.runs == ["ask yes"]
    assert [m.type for m in result["messages"]][-1] == "ai"
    assert [m.id for m in (await rows.talk(shop.loop).state()).values["messages"] if m.type == "human"] == ["a"]
