import pytest
from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Interrupt, Send

from discreet.scanning.messages import (
    ARTIFACTS,
    INTERRUPTS,
    MODEL,
    OBJECTS,
    REASONING,
    RESPONSE_METADATA,
    SENDS,
    SYSTEM,
    TOOL,
    TOOL_CALLS,
    USER,
    as_message,
    kinds_of,
)
from discreet.scanning.values.msgpack import unpack

CALL = {"name": "look_up", "args": {}, "id": "c1", "type": "tool_call"}


def stored(value):
    return unpack(JsonPlusSerializer().dumps_typed(value)[1])


FORMS = {
    "object": stored,
    "constructor": dumpd,
    "dict": lambda message: message.model_dump(mode="json"),
    "type and data": message_to_dict,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (HumanMessage("said", id="1"), USER),
        (AIMessage("said", id="1"), MODEL),
        (ToolMessage("said", tool_call_id="c1", id="1"), TOOL),
        (SystemMessage("said", id="1"), SYSTEM),
        (AIMessageChunk("said", id="1"), MODEL),
    ],
)
def test_messages_are_known_in_every_form(message, kind, form):
    found = as_message(FORMS[form](message))
    assert found is not None
    assert (found.kind, found.fields["content"], found.fields["id"]) == (kind, "said", "1")


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"role": "user", "content": "said"}, USER),
        ({"role": "assistant", "content": "said"}, MODEL),
        ({"role": "developer", "content": "said"}, SYSTEM),
        ({"type": "message", "role": "user", "content": []}, USER),
        ({"type": "function_call", "call_id": "c1", "arguments": "{}"}, TOOL_CALLS),
        ({"type": "function_call_output", "call_id": "c1", "output": "x"}, TOOL),
        ({"type": "reasoning", "summary": []}, REASONING),
    ],
)
def test_items_of_openai_are_known(value, kind):
    assert as_message(value).kind == kind


@pytest.mark.parametrize(
    "value",
    [
        {"type": "human"},
        {"role": "admin", "content": "said"},
        {"type": 3, "content": "said"},
        {"type": "constructor", "id": [], "kwargs": {}},
        {"type": "constructor", "id": ["langchain_core", "prompts", "PromptTemplate"], "kwargs": {}},
        ["human", "said"],
        "human",
        None,
    ],
)
def test_other_values_are_no_messages(value):
    assert as_message(value) is None


def test_what_a_message_carries_is_told():
    message = AIMessage(
        [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "said"}],
        tool_calls=[CALL, {**CALL, "id": "c2"}],
        response_metadata={"headers": {}},
    )
    assert list(kinds_of(stored(message))) == [MODEL, TOOL_CALLS, TOOL_CALLS, REASONING, RESPONSE_METADATA]
    assert list(kinds_of(stored(ToolMessage("x", tool_call_id="c1", artifact={"a": 1})))) == [TOOL, ARTIFACTS]


@pytest.mark.parametrize(
    ("value", "kinds"),
    [
        (Send("node", {}), [SENDS]),
        (Interrupt("why", id="i"), [INTERRUPTS]),
        ({1, 2}, []),
    ],
)
def test_other_objects_are_told_as_what_they_are(value, kinds):
    assert list(kinds_of(stored(value))) == kinds


def test_objects_of_an_application_are_told():
    from pydantic import SecretStr

    assert list(kinds_of(stored(SecretStr("x")))) == [OBJECTS]
