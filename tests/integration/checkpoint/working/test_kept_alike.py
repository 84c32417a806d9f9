"""A saver that keeps turns which are over goes on as one that keeps none: development does as production does."""

from functools import partial
from typing import Annotated

import pytest
from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from discreet.checkpoint import KEEP, CheckpointPolicy, ScratchLimits
from discreet.state.conversation import InputState


def added(value, writes):
    return [*value, *(item for write in writes for item in write)]


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    notes: Annotated[list[str], DeltaChannel(added)]


POLICY = CheckpointPolicy(channels={"notes": KEEP}, deltas={"notes": DeltaChannel(added, list)})


def chat(shop, saver):
    def model(state):
        return {"messages": [shop.model.invoke(state["messages"])], "notes": [f"note {len(state['notes'])}"]}

    builder = StateGraph(State)
    builder.add_node("model", model)
    builder.add_edge(START, "model")
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("keep", [1, 3])
async def test_a_kept_turn_is_gone_on_from_as_one_that_is_not_kept(rows, shop, durability, keep):
    seen = []
    for number, kept in enumerate((0, keep)):
        saver = rows.open()
        saver = type(saver)(saver.inner, policy=POLICY, scratch=ScratchLimits(keep_closed=kept))
        talk = rows.talk(lambda each: chat(shop, each), saver)
        talk.config = {"configurable": {"thread_id": f"thread-{number}"}}
        shop.model.prompts.clear()
        for text in ("first one", "second one", "third one"):
            await talk.invoke(shop.say(text), **durability)
        # A placeholder's tag is its thread's.
        prompts = [[message.text.partition("<")[0] for message in prompt] for prompt in shop.model.prompts]
        seen.append((prompts, (await talk.state()).values["notes"]))
    assert seen[0] == seen[1]
    assert seen[0][1] == ["note 0", "note 1", "note 2"]


@pytest.mark.fast_cases(4)
@pytest.mark.parametrize("keep", [0, 5])
@pytest.mark.parametrize("by", ["input", "update"])
@pytest.mark.parametrize("turn", [0, 1, 2])
async def test_a_branch_has_the_text_that_a_message_was_edited_to(rows, stock, shop, durability, keep, by, turn):
    """Wherever it is looked at: here, and after a restart."""
    seen = []
    for each in (stock, rows):
        saver = each.open()
        if each is rows:
            saver = type(saver)(saver.inner, scratch=ScratchLimits(keep_closed=keep))
        talk, ends = each.talk(partial(plain, shop), saver), []
        for number in range(3):
            said = HumanMessage(f"say {number}", id=f"m{number}")
            await talk.invoke({"messages": [said]}, **durability)
            ends.append((await talk.state()).config)
        edited = {"messages": [HumanMessage("edited text", id="m1")]}
        if by == "input":
            await talk.invoke(edited, ends[turn], **durability)
        else:
            await talk.update(edited, ends[turn])
        seen.append(await talk.texts())
        assert seen[-1].count("h:edited text") == 1
        if each is rows:
            seen.append(await rows.talk(partial(plain, shop)).texts())
    assert seen[0] == seen[1] == seen[2]


def plain(shop, saver):
    builder = StateGraph(InputState)
    builder.add_node("model", lambda state: {"messages": [shop.model.invoke(state["messages"])]})
    builder.add_edge(START, "model")
    return builder.compile(checkpointer=saver)


async def test_a_text_that_a_node_puts_in_the_place_of_the_users_is_stored_alike(rows, durability):
    def graph(saver):
        builder = StateGraph(State)
        builder.add_node("cut", lambda state: {"messages": [HumanMessage("cut off", id=state["messages"][-1].id)]})
        builder.add_edge(START, "cut")
        return builder.compile(checkpointer=saver)

    seen = []
    for kept in (0, 5):
        saver = rows.open()
        talk = rows.talk(graph, type(saver)(saver.inner, policy=POLICY, scratch=ScratchLimits(keep_closed=kept)))
        talk.config = {"configurable": {"thread_id": f"thread-{kept}"}}
        for name in ("m1", "m2"):
            end = (await talk.state()).config
            await talk.invoke({"messages": [HumanMessage(f"say {name}", id=name)]}, end, **durability)
        there = rows.talk(graph, type(saver)(rows.open().inner, policy=POLICY))
        seen.append(await there.texts(talk.config))
    assert seen[0] == seen[1]
