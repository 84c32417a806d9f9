"""A saver that keeps turns which are over goes on as one that keeps none: development does as production does."""

from typing import Annotated

import pytest
from langchain_core.messages import AnyMessage
from langgraph.channels import DeltaChannel
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from discreet.checkpoint import KEEP, CheckpointPolicy, ScratchLimits


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
