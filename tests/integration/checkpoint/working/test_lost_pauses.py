"""An answer that arrives where the paused turn is not: refused, and nothing is done that nobody approved."""

from contextlib import suppress

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from discreet.checkpoint import CheckpointPolicy
from discreet.errors import TransientStateLostError
from discreet.state.conversation import InputState


def stateless_parent(shop, saver):
    """The shop as a subgraph that lives for one call."""
    builder = StateGraph(InputState)
    builder.add_node("shop", shop.loop(None))
    builder.add_edge(START, "shop")
    return builder.compile(checkpointer=saver)


def stateful_parent(shop, saver):
    """The shop as a subgraph with a state of its own."""
    builder = StateGraph(InputState)
    builder.add_node("shop", shop.loop(True))
    builder.add_edge(START, "shop")
    return builder.compile(checkpointer=saver)


SHAPES = {
    "loop": (lambda shop: shop.loop, "use:ask one"),
    "twice": (lambda shop: shop.loop, "use:ask_twice one"),
    "guarded": (lambda shop: shop.guarded, "gate:ask one"),
    "subgraph": (lambda shop: lambda saver: stateless_parent(shop, saver), "use:ask one"),
    "stateful": (lambda shop: lambda saver: stateful_parent(shop, saver), "use:ask one"),
    "named": (lambda shop: lambda saver: stateful_parent(shop, saver), "use:ask one"),
}
"""Graphs and what is said to them. Of those with a subgraph the policy names that of the last."""


@pytest.fixture(params=sorted(SHAPES))
def shape(request, shop, rows):
    make, order = SHAPES[request.param]
    rows.policy = CheckpointPolicy(subgraphs=("shop",)) if request.param == "named" else None
    return make(shop), order


@pytest.fixture(params=[0, 1], ids=["first-turn", "later-turn"])
def earlier(request):
    return request.param


@pytest.mark.fast_cases(3)
async def test_an_answer_on_another_replica_is_refused(rows, shop, shape, durability, earlier):
    make, order = shape
    here, there = rows.talk(make), rows.talk(make)
    for _ in range(earlier):
        await here.invoke(shop.say("first one"), **durability)
    await here.invoke(shop.say(order), **durability)
    for _ in range(2):
        with pytest.raises(TransientStateLostError):
            await there.invoke(Command(resume="yes"), **durability)
    assert shop.runs == []
    await there.invoke(shop.say("new one"), **durability)
    assert (shop.runs, shop.model.refused) == ([], 0)
    assert [text for text in await there.texts() if text[0] == "h"][earlier:] == [f"h:{order}", "h:new one"]


@pytest.mark.fast_cases(2)
async def test_after_a_refusal_the_state_can_be_updated(rows, shop, durability):
    await rows.talk(shop.loop).invoke(shop.say("use:ask one"), **durability)
    there = rows.talk(shop.loop)
    with pytest.raises(TransientStateLostError):
        await there.invoke(Command(resume="yes"), **durability)
    await there.update({"messages": [AIMessage("answer by hand")]}, as_node="model")
    assert await there.texts() == ["h:use:ask one", "a:let me", "a:answer by"]


@pytest.mark.fast_cases(3)
async def test_an_answer_by_id_on_another_replica_acts_on_nothing(rows, shop, shape, durability, earlier):
    """LangGraph shows a saver no answers that name their questions; where none is pending they do nothing."""
    make, order = shape
    here, there = rows.talk(make), rows.talk(make)
    for _ in range(earlier):
        await here.invoke(shop.say("first one"), **durability)
    paused = await here.invoke(shop.say(order), **durability)
    before = await there.texts()
    with suppress(TransientStateLostError):
        await there.invoke(Command(resume={paused["__interrupt__"][0].id: "yes"}), **durability)
    assert (shop.runs, await there.texts()) == ([], before)
    await there.invoke(shop.say("new one"), **durability)
    assert (shop.runs, shop.model.refused) == ([], 0)


@pytest.mark.fast_cases(3)
async def test_the_replica_that_holds_the_turn_may_still_resume_after_a_refusal_elsewhere(rows, shop, shape):
    make, order = shape
    here, there = rows.talk(make), rows.talk(make)
    await here.invoke(shop.say(order))
    with pytest.raises(TransientStateLostError):
        await there.invoke(Command(resume="yes"))
    result = await here.invoke(Command(resume="yes"))
    if "twice" in order:
        assert "__interrupt__" in result
    else:
        assert len(shop.runs) == 1


@pytest.mark.fast_cases(2)
async def test_an_answer_is_refused_after_another_replica_moved_the_thread_on(rows, shop, shape, durability):
    make, order = shape
    here, there = rows.talk(make), rows.talk(make)
    await here.invoke(shop.say(order), **durability)
    await there.invoke(shop.say("moved on"), **durability)
    with pytest.raises(TransientStateLostError):
        await here.invoke(Command(resume="yes"), **durability)
    assert shop.runs == []
    said = [text for text in await here.texts() if text != "a:let me"]  # a subgraph of its own state hands it on late
    assert said[-2:] == ["h:moved on", "a:answer to"]


async def test_a_second_answer_to_the_same_question_runs_nothing_again(rows, shop, durability):
    talk = rows.talk(shop.loop)
    paused = await talk.invoke(shop.say("use:ask one"), **durability)
    for answer in ("yes", {paused["__interrupt__"][0].id: "yes"}):
        with suppress(TransientStateLostError):
            await talk.invoke(Command(resume=answer), **durability)
    assert shop.runs == ["ask yes"]
    await talk.invoke(shop.say("use:ask two"), **durability)
    assert shop.runs == ["ask yes"]


async def test_the_question_is_shown_elsewhere_without_its_words(rows, shop, durability):
    await rows.talk(shop.loop).invoke(shop.say("use:ask one"), **durability)
    state = await rows.talk(shop.loop).state()
    assert "raw" not in str(state.values)
    assert "raw" not in str(state.interrupts)
    human, plan = state.values["messages"]
    assert (human.type, plan.type, plan.text, plan.tool_calls) == ("human", "ai", f"let me {shop.plan}", [])


@pytest.mark.fast_cases(3)
async def test_without_an_answer_another_replica_never_runs_the_guarded_call(rows, shop, shape, durability):
    make, order = shape
    await rows.talk(make).invoke(shop.say(order), **durability)
    await rows.talk(make).invoke(None, **durability)
    assert shop.runs == []


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("given", [None, Command(resume="yes")], ids=["none", "resume"])
async def test_a_static_breakpoint_that_was_lost_never_runs_the_tool(rows, shop, durability, given):
    await rows.talk(shop.loop, interrupt_before=["tools"]).invoke(shop.say("use:note one"), **durability)
    with suppress(TransientStateLostError):
        await rows.talk(shop.loop, interrupt_before=["tools"]).invoke(given, **durability)
    assert shop.runs == []
    there = rows.talk(shop.loop, interrupt_before=["tools"])
    await there.invoke(shop.say("new one"), **durability)
    assert (shop.runs, shop.model.refused) == ([], 0)


async def test_a_forgotten_pause_in_the_same_process_is_refused_too(rows, shop, durability):
    saver = rows.open()
    talk = rows.talk(shop.loop, saver)
    await talk.invoke(shop.say("use:ask one"), **durability)
    saver._scratch.drop("1")
    with pytest.raises(TransientStateLostError):
        await talk.invoke(Command(resume="yes"), **durability)
    assert shop.runs == []


async def test_an_answer_in_a_thread_that_nobody_knows_is_refused(rows, shop, durability):
    """LangGraph itself would start the graph without input, and hand the answer to the first question that comes."""
    builder = StateGraph(InputState)
    builder.add_node("act", lambda _: shop.runs.append(f"act {interrupt('raw question')}"))
    builder.add_edge(START, "act")
    talk = rows.talk(lambda saver: builder.compile(checkpointer=saver))
    for answer in ("yes", "yes", {"0" * 32: "yes"}):
        with suppress(TransientStateLostError):
            asked = await talk.invoke(Command(resume=answer), **durability)
            assert "raw question" in str(asked["__interrupt__"]), "neither refused nor asked"
            break  # the next answer would be one to this question
        assert all(state.values == {"messages": []} for state in await talk.history())
    assert shop.runs == []


async def test_a_call_that_was_prepared_elsewhere_is_answered_where_it_asked(rows, shop, durability):
    builder = StateGraph(InputState)
    builder.add_node("gate", lambda _: {})
    builder.add_node("act", lambda _: shop.runs.append(f"act {interrupt('raw question')}"))
    builder.add_edge(START, "gate")
    builder.add_edge("gate", "act")

    def make(saver):
        return builder.compile(checkpointer=saver)

    await rows.talk(make).update(shop.say("act one"), as_node="gate")
    here, there = rows.talk(make), rows.talk(make)
    assert "__interrupt__" in await here.invoke(None, **durability)
    with pytest.raises(TransientStateLostError):
        await there.invoke(Command(resume="no"), **durability)
    await here.invoke(Command(resume="yes"), **durability)
    assert (shop.runs, (await here.state()).next) == (["act yes"], ())


async def test_what_a_lost_pause_was_about_does_not_come_back(rows, shop, durability):
    builder = StateGraph(InputState)
    builder.add_node("gate", lambda _: {})
    builder.add_node("act", lambda _: shop.runs.append(f"act {interrupt('raw question')}"))
    builder.add_node("answer", lambda _: {"messages": [AIMessage("answer")]})
    builder.add_edge(START, "gate")
    builder.add_conditional_edges(
        "gate", lambda state: "act" if "act" in state["messages"][-1].text.split() else "answer", ["act", "answer"]
    )

    def make(saver):
        return builder.compile(checkpointer=saver)

    await rows.talk(make).update(shop.say("act one"), as_node="gate")
    await rows.talk(make).invoke(None, **durability)
    await rows.talk(make).invoke(shop.say("new one"), **durability)
    there = rows.talk(make)
    assert (await there.state()).next == ()
    assert "__interrupt__" not in (await there.invoke(None, **durability) or {})
    assert shop.runs == []
