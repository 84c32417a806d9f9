from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command, Interrupt, Send

from discreet.checkpoint import CheckpointPolicy
from discreet.checkpoint.base import durable_tier
from discreet.checkpoint.tripwire import TripwireSerializer
from discreet.errors import LeakBlockedError

serde = TripwireSerializer(JsonPlusSerializer())

REFUSED = [
    ToolMessage("raw", tool_call_id="1"),
    SystemMessage("raw"),
    Send("tools", "raw"),
    Command(update={"x": "raw"}),
    ValueError("raw"),
    HumanMessage("hi", name="raw"),
    HumanMessage([{"type": "text", "text": "raw"}]),
    AIMessage("hi", tool_calls=[{"name": "n", "args": {}, "id": "1"}]),
    AIMessage("hi", response_metadata={"model": "raw"}),
    AIMessage("hi", additional_kwargs={"reasoning": "raw"}),
    object(),
    "nul\0",
]


@pytest.mark.parametrize("value", REFUSED, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: [v], lambda v: {"x": (v,)}, lambda v: Interrupt(v, id="1")])
def test_what_must_not_be_stored_is_refused_wherever_it_sits(value, wrap):
    with pytest.raises(LeakBlockedError) as refusal:
        serde.dumps_typed(wrap(value))
    assert "raw" not in str(refusal.value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        {"a": [1, 2.5, "x", True, b"y"]},
        [HumanMessage("hi", id=str(uuid4())), AIMessage("hi"), RemoveMessage(id="1")],
        (Interrupt("[redacted]", id="1"),),
        {"a", "b"},
    ],
)
def test_the_rest_passes_unchanged(value):
    assert serde.loads_typed(serde.dumps_typed(value)) == JsonPlusSerializer().loads_typed(
        JsonPlusSerializer().dumps_typed(value)
    )


def test_a_saver_given_to_us_is_left_as_it_is():
    inner = InMemorySaver()
    tier = durable_tier(inner, CheckpointPolicy())
    assert isinstance(tier.serde, TripwireSerializer)
    assert not isinstance(inner.serde, TripwireSerializer)
    assert tier.storage is inner.storage
