"""The bytes that the constraints look for, taken from LangGraph's own serializer."""

import pytest
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Interrupt, Send

from discreet.checkpoint.postgres.guard import FRAMES

REFUSED = [
    ToolMessage("x", tool_call_id="1"),
    ToolMessageChunk("x", tool_call_id="1"),
    SystemMessage("x"),
    SystemMessageChunk("x"),
    Send("node", {"a": 1}),
]


def blob(value):
    return JsonPlusSerializer().dumps_typed(value)[1]


@pytest.mark.parametrize("value", REFUSED, ids=lambda value: type(value).__name__)
def test_each_refused_type_has_one_frame(value):
    assert [frame for frame in FRAMES if frame in blob([{"deep": value}])] == [
        f"{type(value).__module__}".encode() + bytes([0xA0 + len(type(value).__name__)]) + type(value).__name__.encode()
    ]


def test_no_frame_is_there_for_nothing():
    everything = blob(REFUSED)
    assert all(frame in everything for frame in FRAMES)


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: frame.decode("latin-1"))
def test_no_text_can_hold_a_frame(frame):
    with pytest.raises(UnicodeDecodeError):
        frame.decode()
    quoted = frame.decode("latin-1")
    for value in (quoted, [HumanMessage(quoted, id=quoted)], {quoted: [AIMessage(repr(frame))]}, repr(REFUSED)):
        assert not any(known in blob(value) for known in FRAMES)


@pytest.mark.slow
def test_what_may_be_stored_has_none():
    allowed = [
        HumanMessage("ToolMessage", id="1"),
        AIMessage("Send"),
        RemoveMessage(id="1"),
        Interrupt("SystemMessage"),
    ]
    assert not any(frame in blob([allowed, "langgraph.types"]) for frame in FRAMES)
