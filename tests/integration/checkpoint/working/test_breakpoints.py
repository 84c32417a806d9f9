"""What a static breakpoint has shown stays when the user says something else: by a message, or by `update_state`."""

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, StateGraph

from discreet.state.conversation import InputState


def drafts(shop):
    def make(saver, **options):
        builder = StateGraph(InputState)
        builder.add_node("draft", lambda state: {"messages": [AIMessage("draft shown")]})
        builder.add_node("model", shop._call_model)
        builder.add_edge(START, "draft")
        builder.add_edge("draft", "model")
        return builder.compile(checkpointer=saver, **options)

    return make


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("stop", [{"interrupt_before": ["model"]}, {"interrupt_after": ["draft"]}])
@pytest.mark.parametrize("by", ["update", "input"])
async def test_text_shown_at_a_breakpoint_stays(rows, stock, shop, durability, stop, by):
    make, told = drafts(shop), []
    for talks in (stock, rows):
        talk = talks.talk(make, **stop)
        await talk.invoke(shop.say("first one"), **durability)
        assert await talk.texts() == ["h:first one", "a:draft shown"]
        if by == "update":
            await talk.update(shop.say("second one"))
        else:
            await talk.invoke(shop.say("second one"), **durability)
        await talk.invoke(None, **durability)
        told.append(await talk.texts())
    assert told[0] == told[1]
    assert told[0][:3] == ["h:first one", "a:draft shown", "h:second one"]
    assert await rows.talk(make).texts() == told[0]
