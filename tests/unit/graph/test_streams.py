"""What a stream of the template says, and the shape in which parts of a stream are yielded."""

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage

from discreet.graph.streams import Part, Shape, answer_of, piece_of

CALL = {"name": "look_up", "args": {}, "id": "c1", "type": "tool_call"}


@pytest.mark.parametrize(
    ("updates", "answer"),
    [
        ({"assistant": {"messages": [AIMessage("<think>Tea?</think>Green tea.")]}}, "Green tea."),
        ({"persist_filtered": {"messages": [HumanMessage("Hi"), AIMessage("Hello")]}}, "Hello"),
        ({"assistant": {"messages": [AIMessage("I look.", tool_calls=[CALL])]}}, ""),
        ({"persist_filtered": None}, ""),
        ({"tools": {"messages": [AIMessage("Hello")]}}, ""),
    ],
)
def test_the_answer_is_that_of_the_model_whatever_masks_the_state(updates, answer):
    assert answer_of(updates) == answer


def test_pieces_are_those_of_the_assistant():
    assert piece_of((AIMessageChunk("Hel"), {"langgraph_node": "assistant"})) == "Hel"
    assert piece_of((AIMessageChunk("Hel"), {"langgraph_node": "tools"})) == ""
    assert piece_of((AIMessage("Hello"), {"langgraph_node": "assistant"})) == ""


@pytest.mark.parametrize(
    ("shape", "event"),
    [
        (Shape("values"), {"a": 1}),
        (Shape(["values"]), ("values", {"a": 1})),
        (Shape(("values",)), {"a": 1}),
        (Shape("values", subgraphs=True), (("n",), {"a": 1})),
        (Shape(["values"], subgraphs=True), (("n",), "values", {"a": 1})),
        (Shape("values", version="v2"), {"type": "values", "ns": ("n",), "data": {"a": 1}, "interrupts": ()}),
    ],
)
def test_a_part_is_yielded_as_langgraph_yields_it(shape, event):
    assert shape.shaped(Part(("n",), "values", {"a": 1})) == event
