"""Put values back into objects of any shape."""

import json
from dataclasses import dataclass
from typing import NamedTuple

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage
from langgraph.types import Interrupt
from pydantic import BaseModel, Field

from discreet.redaction.restoring import restore

MARK, NUMBER = "<EMAIL:7K2QX3MD>", "<CARD:AAAAAAAA>"
SAID = 'ann "the boss" \\ @example.com'
VALUES = {MARK: SAID, NUMBER: "4111111111111111"}


class Contact(BaseModel):
    email: str = Field(alias="mail", default="")
    card: int = 0
    others: list["Contact"] = []


@dataclass(frozen=True, slots=True)
class Place:
    text: str
    n: int = 1


class Pair(NamedTuple):
    one: object
    two: object


@pytest.mark.parametrize(
    ("value", "back"),
    [
        (f"to {MARK}", f"to {SAID}"),
        ({"a": [MARK, {MARK: 1}], "b": 2}, {"a": [SAID, {SAID: 1}], "b": 2}),
        ((MARK, 1), (SAID, 1)),
        (Pair(MARK, {"x": MARK}), Pair(SAID, {"x": SAID})),
        (Place(MARK), Place(SAID)),
        (Interrupt({"to": MARK}, id="i1"), Interrupt({"to": SAID}, id="i1")),
        (ToolMessage(f"to {MARK}", tool_call_id="c"), ToolMessage(f"to {SAID}", tool_call_id="c")),
        (AIMessageChunk([{"type": "text", "text": MARK}]), AIMessageChunk([{"type": "text", "text": SAID}])),
        (
            AIMessage("", tool_calls=[{"name": "t", "args": {"to": MARK}, "id": "c", "type": "tool_call"}]),
            AIMessage("", tool_calls=[{"name": "t", "args": {"to": SAID}, "id": "c", "type": "tool_call"}]),
        ),
    ],
)
def test_all_texts_get_their_values_and_the_kind_stays(value, back):
    assert restore(value, VALUES) == back


@pytest.mark.parametrize(
    "value", [{"a": ["<EMAIL:BBBBBBBB>", object]}, AIMessage("<EMAIL>"), Place("x"), (1, {2}), None]
)
def test_what_has_none_is_the_same_object(value):
    assert restore(value, VALUES) is value


def test_a_model_is_checked_again_so_that_a_number_is_a_number():
    masked = Contact.model_construct(email=MARK, card=NUMBER, others=[Contact.model_construct(email=MARK)])
    back = restore(masked, VALUES)
    assert (back.email, back.card, back.others[0].email) == (SAID, 4111111111111111, SAID)


def test_json_within_a_text_stays_json():
    assert json.loads(restore(json.dumps({"to": MARK}), VALUES)) == {"to": SAID}


def test_what_holds_itself_ends():
    value = {"to": MARK}
    value["self"] = value
    assert restore(value, VALUES)["to"] == SAID
