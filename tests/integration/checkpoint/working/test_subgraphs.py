"""Subgraphs: those with a state of their own keep it, those that live for one call lose nothing within a turn."""

import operator
from dataclasses import replace
from typing import Annotated

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from discreet.checkpoint import REDACT, CheckpointPolicy
from discreet.errors import TransientStateLostError
from discreet.state.conversation import InputState

UNNAMED = CheckpointPolicy(channels={"seen": REDACT})
POLICY = replace(UNNAMED, subgraphs=("inner",))

OWN = pytest.mark.parametrize(
    ("own", "policy"), [(None, POLICY), (True, UNNAMED), (True, POLICY)], ids=["call", "unnamed", "stateful"]
)
"""A subgraph of one call, one with a state of its own that ends with the turn, and one whose state the policy keeps."""


class Own(InputState):
    seen: Annotated[list[str], operator.add]


def parent(inner):
    """A graph around `inner`, with a node of its own before and after it."""
    builder = StateGraph(InputState)
    builder.add_node("before", lambda _: {})
    builder.add_node("inner", inner)
    builder.add_node("after", lambda state: {"messages": [AIMessage(f"{len(state['messages'])} messages in")]})
    builder.add_edge(START, "before")
    builder.add_edge("before", "inner")
    builder.add_edge("inner", "after")
    builder.add_edge("after", END)
    return lambda saver: builder.compile(checkpointer=saver)


def counting(shop, *, checkpointer):
    """A subgraph that notes each user's text, and asks on demand."""

    def note(state):
        return {"seen": [state["messages"][-1].text]}

    def act(state):
        text = state["messages"][-1].text
        if "pause" in text:
            shop.runs.append(f"pause {interrupt(shop.raw('question'))}")
        if "fail" in text and shop.broken:
            raise LookupError("raw")
        shop.attempts.append(" | ".join(" ".join(seen.split()[:2]) for seen in state["seen"]))
        shop.runs += [seen for seen in state["seen"] if shop.email in seen]
        return {}

    def note_once(state):
        shop.attempts.append("noted")
        return note(state)

    builder = StateGraph(Own)
    builder.add_node("note", note_once)
    builder.add_node("act", act)
    builder.add_edge(START, "note")
    builder.add_edge("note", "act")
    return builder.compile(checkpointer=checkpointer)


@pytest.mark.fast_cases(2)
async def test_a_stateful_subgraph_keeps_its_state_over_turns_and_replicas(rows, shop, durability):
    make = parent(counting(shop, checkpointer=True))
    saver = rows.open(POLICY)
    for number, kept in enumerate([saver, saver, rows.open(POLICY)]):
        await rows.talk(make, kept).invoke(shop.say(f"turn {number}"), **durability)
    assert [attempt for attempt in shop.attempts if attempt != "noted"] == [
        "turn 0",
        "turn 0 | turn 1",
        "turn 0 | turn 1 | turn 2",
    ]
    whole = [f"turn {number} {shop.word} {shop.email}" for number in range(3)]
    told = [whole[number] for turn in range(3) for number in range(turn + 1)]
    assert [text for text in shop.runs if text in whole] == told, "each turn has the texts of those before"


@pytest.mark.fast_cases(2)
async def test_a_stateful_subgraphs_conversation_is_read_back_with_its_values(rows, shop, durability):
    make = parent(shop.loop(True))
    rows.policy = POLICY
    await rows.talk(make).invoke(shop.say("use:note one"), **durability)
    await rows.talk(make).invoke(shop.say("second one"), **durability)
    assert shop.model.refused == 0
    last = shop.model.prompts[-1]
    assert last[0].text.startswith("use:note one")
    assert shop.email in last[0].text
    assert [" ".join(m.text.split()[:2]) for m in last if isinstance(m, HumanMessage)] == ["use:note one", "second one"]


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("own", [None, True], ids=["call", "unnamed"])
async def test_a_subgraph_that_no_policy_names_begins_anew_each_turn(rows, shop, durability, own):
    talk = rows.talk(parent(counting(shop, checkpointer=own)), rows.open(UNNAMED))
    for number in range(2):
        await talk.invoke(shop.say(f"turn {number}"), **durability)
    assert [attempt for attempt in shop.attempts if attempt != "noted"] == ["turn 0", "turn 1"]


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["postgres:async", "postgres:sync"], indirect=True)
@pytest.mark.parametrize("policy", [UNNAMED, POLICY], ids=["unnamed", "named"])
async def test_of_a_subgraph_that_no_policy_names_nothing_is_on_disk(rows, shop, durability, policy, on_disk):
    def act(state):
        return {"seen": [interrupt(shop.raw("question"))]} if "pause" in state["messages"][-1].text else {}

    builder = StateGraph(Own)
    builder.add_node("note", lambda _: {"seen": [f"inside {shop.word}"]})
    builder.add_node("act", act)
    builder.add_edge(START, "note")
    builder.add_edge("note", "act")
    talk = rows.talk(parent(builder.compile(checkpointer=True)), rows.open(policy))
    await talk.invoke(shop.say("first one"), **durability)
    await talk.invoke(shop.say("pause here"), **durability)
    found = on_disk(inside=f"inside {shop.word}", question=shop.raw("question"), mail=shop.email)
    assert found == ({"inside"} if policy is POLICY else set())


@pytest.mark.fast_cases(2)
@OWN
async def test_a_pause_in_a_subgraph_resumes_where_it_was(rows, shop, durability, own, policy):
    talk = rows.talk(parent(counting(shop, checkpointer=own)), rows.open(policy))
    kept = own and policy is POLICY
    await talk.invoke(shop.say("first one"), **durability)
    await talk.invoke(shop.say("pause here"), **durability)
    state = await talk.state(subgraphs=True)
    assert (state.next, state.tasks[0].state.next) == (("inner",), ("act",))
    await talk.invoke(Command(resume="yes"), **durability)
    assert "pause yes" in shop.runs
    assert shop.attempts.count("noted") == 2
    assert shop.attempts[-1] == ("first one | pause here" if kept else "pause here")
    assert (await talk.texts())[-2] == "h:pause here"
    await talk.invoke(shop.say("third one"), **durability)
    assert shop.attempts[-1] == ("first one | pause here | third one" if kept else "third one")


@pytest.mark.fast_cases(3)
@OWN
async def test_after_a_lost_pause_a_subgraph_goes_on(rows, shop, durability, own, policy):
    make = parent(counting(shop, checkpointer=own))
    rows.policy = policy
    await rows.talk(make).invoke(shop.say("first one"), **durability)
    await rows.talk(make).invoke(shop.say("pause here"), **durability)
    there = rows.talk(make)
    with pytest.raises(TransientStateLostError):
        await there.invoke(Command(resume="yes"), **durability)
    await there.invoke(shop.say("third one"), **durability)
    assert "pause yes" not in shop.runs
    assert shop.attempts[-1].endswith("third one")
    assert shop.attempts[-1].startswith("first one" if own and policy is POLICY else "third one")
    assert [text for text in await there.texts() if text[0] == "h"] == ["h:first one", "h:pause here", "h:third one"]


@pytest.mark.fast_cases(4)
@OWN
async def test_in_a_subgraph_only_the_node_that_failed_runs_again(rows, shop, durability, own, policy):
    talk = rows.talk(parent(counting(shop, checkpointer=own)), rows.open(policy))
    with pytest.raises(LookupError):
        await talk.invoke(shop.say("fail here"), **durability)
    shop.broken = False
    await talk.invoke(None, **durability)
    assert shop.attempts == ["noted", "fail here"]
    assert await talk.texts() == ["h:fail here", "a:1 messages"]


@pytest.mark.fast_cases(3)
@OWN
async def test_a_new_message_after_a_tool_failed_in_a_subgraph_is_answered(rows, shop, durability, own, policy):
    talk = rows.talk(parent(shop.loop(own)), rows.open(policy))
    with pytest.raises(LookupError):
        await talk.invoke(shop.say("use:fail one"), **durability)
    await talk.invoke(shop.say("never mind"), **durability)
    assert shop.model.refused == 0
    assert [text for text in await talk.texts() if text[0] == "h"] == ["h:use:fail one", "h:never mind"]


@pytest.mark.fast_cases(4)
@OWN
async def test_a_tool_that_failed_in_a_subgraph_is_retried_alone(rows, shop, durability, own, policy):
    talk = rows.talk(parent(shop.loop(own)), rows.open(policy))
    with pytest.raises(LookupError):
        await talk.invoke(shop.say("use:fail one"), **durability)
    shop.broken = False
    await talk.invoke(None, **durability)
    assert (len(shop.model.prompts), shop.attempts, shop.model.refused) == (2, ["fail", "fail"], 0)
    assert (await talk.texts())[0] == "h:use:fail one"


async def test_a_paused_subgraphs_state_can_be_updated(rows, shop):
    talk = rows.talk(parent(counting(shop, checkpointer=None)))
    await talk.invoke(shop.say("pause here"))
    inner = (await talk.state(subgraphs=True)).tasks[0].state
    await talk.update({"seen": ["by hand"]}, inner.config)
    await talk.invoke(Command(resume="yes"))
    assert "by hand" in shop.attempts[-1]


async def test_a_subgraph_hands_over_to_its_parent(rows, shop, durability):
    def hand_over(state):
        shop.attempts.append("handed")
        return Command(graph=Command.PARENT, goto="expert", update={"messages": [AIMessage("one moment")]})

    inner = StateGraph(InputState)
    inner.add_node("hand_over", hand_over)
    inner.add_edge(START, "hand_over")
    builder = StateGraph(InputState)
    builder.add_node("inner", inner.compile(), destinations=("expert",))
    builder.add_node("expert", lambda _: {"messages": [AIMessage("expert answer")]})
    builder.add_edge(START, "inner")
    talk = rows.talk(lambda saver: builder.compile(checkpointer=saver))
    for _ in range(2):
        await talk.invoke(shop.say("hello there"), **durability)
    assert shop.attempts == ["handed", "handed"]
    assert await talk.texts() == ["h:hello there", "a:one moment", "a:expert answer"] * 2
