"""What the user saw of a turn is its answer."""

from dataclasses import dataclass

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import BaseModel

from discreet.nodes.assistant import SILENT
from discreet.nodes.persist_filtered import answers
from discreet.state.message_text import text_of

ASKED = HumanMessage("Well?", id="m1")


class Weather(BaseModel):
    city: str
    degrees: int


@dataclass
class Score:
    points: int


def call(name="lookup"):
    return {"name": name, "args": {}, "id": "c1"}


def result(text, name="lookup", **more):
    return ToolMessage(text, name=name, tool_call_id="c1", **more)


@pytest.mark.parametrize(
    ("since", "seen"),
    [
        ([AIMessage("One.")], ["One."]),
        ([AIMessage("One."), AIMessage("Two.")], ["One.", "Two."]),
        ([AIMessage("One."), SystemMessage("note")], ["One."]),
        ([AIMessage("Looking.", tool_calls=[call()]), result("x"), AIMessage("Found.")], ["Found."]),
        ([AIMessage("Looking.", tool_calls=[call()])], ["Looking."]),
        ([AIMessage("<think>x</think>Looking.", tool_calls=[call()])], ["Looking."]),
        ([AIMessage("", tool_calls=[call()])], []),
        ([AIMessage("<think>x</think>")], [SILENT]),
        ([AIMessage("One."), AIMessage("<think>x")], ["One."]),
        ([AIMessage("", tool_calls=[call()]), result("planted")], ["(Answered by the tool lookup.)"]),
        (
            [AIMessage("See below.", tool_calls=[call()]), result("planted")],
            ["See below.\n(Answered by the tool lookup.)"],
        ),
        ([AIMessage("", tool_calls=[call()]), result("Noon.", "clock")], ["Noon."]),
        (
            [AIMessage("", tool_calls=[call(), call("clock")]), result("planted"), result("Noon.", "clock")],
            ["(Answered by the tool lookup.)\nNoon."],
        ),
        ([], []),
    ],
)
def test_the_answer_is_what_was_shown(since, seen):
    assert [text_of(m) for m in answers([ASKED, *since], told_tools={"clock"})] == seen


def test_what_was_said_before_the_users_message_is_no_answer_to_it():
    assert answers([AIMessage("Earlier."), ASKED]) == []


@pytest.mark.parametrize(
    ("name", "structured", "seen"),
    [
        ("Weather", Weather(city="Huế", degrees=30), '{"city": "Huế", "degrees": 30}'),
        ("Score", Score(points=3), '{"points": 3}'),
        ("whatever", {"points": 3}, '{"points": 3}'),
        ("lookup", Weather(city="Huế", degrees=30), "(Answered by the tool lookup.)"),
    ],
)
def test_a_structured_response_is_the_answer(name, structured, seen):
    turn = [ASKED, AIMessage("", tool_calls=[call(name)]), result("Returning structured response", name)]
    (answer,) = answers(turn, structured=structured)
    assert answer.content == seen
