"""A state of one's own in the template's graph."""

import dataclasses
import inspect
from typing import TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from discreet.errors import ConfigurationError
from discreet.graph import build_graph
from discreet.graph.options import GraphOptions
from discreet.state.conversation import ConversationState


class Planned(ConversationState):
    plan: str


async def test_a_state_of_ones_own_goes_in_and_comes_out():
    graph = build_graph(chat_model="offline", state_schema=Planned).compile(checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    state = await graph.ainvoke({"messages": [("user", "Hello")], "plan": "rest"}, thread)
    assert state.keys() == {"messages", "plan"}
    assert (await graph.ainvoke({"messages": [("user", "And now?")]}, thread))["plan"] == "rest"
    shown = graph.get_input_jsonschema()["properties"]
    assert shown.keys() == graph.get_output_jsonschema()["properties"].keys() == {"messages", "plan"}


def test_a_state_without_the_running_turn_is_refused():
    class Alien(TypedDict):
        messages: list[str]

    with pytest.raises(ConfigurationError, match="lacks gate, memories, remaining_steps, request"):
        build_graph(chat_model="offline", state_schema=Alien)


def test_each_option_is_spelt_in_one_place():
    taken = inspect.signature(build_graph).parameters
    assert taken.keys() == {field.name for field in dataclasses.fields(GraphOptions)}
    assert [name for name, each in taken.items() if each.kind is not inspect.Parameter.KEYWORD_ONLY] == ["storage"]
    with pytest.raises(TypeError, match="memory"):
        build_graph(memory=None)
