"""Events as they come: what is held back, what ends it, and what stays in its place."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
    ToolMessageChunk,
)
from langchain_core.runnables.utils import AddableDict
from langgraph.types import Interrupt

from discreet.graph.guard.events import CallbackEvents, StreamEvents
from discreet.graph.guard.objects import RunObjects, RunTexts
from discreet.graph.streams import Part
from discreet.redaction import Redactor, resolve

REDACTOR = Redactor(placeholder_key=bytes(32))
META = {"langgraph_node": "say", "run_id": "r1"}
CALL = "call_5f7f2ayrDrYYxOV2EXvyDZhE"


@pytest.fixture
def objects() -> RunObjects:
    return RunObjects(RunTexts(REDACTOR.for_thread("t"), {}, thread="t"))


class Stream:
    """The events of a run as pairs of mode and payload."""

    def __init__(self, objects: RunObjects) -> None:
        self._events = StreamEvents(objects)

    def redact(self, event: tuple[str, Any]) -> list[tuple[str, Any]]:
        return [(part.mode, part.data) for part in self._events.redact(Part((), *event))]

    def rest(self) -> list[tuple[str, Any]]:
        return [(part.mode, part.data) for part in self._events.rest()]


def test_the_rest_of_a_message_without_an_end_comes_when_the_stream_ends(objects: RunObjects) -> None:
    events = Stream(objects)
    first = events.redact(("messages", (AIMessageChunk("mail ann@exa", id="m"), META)))
    second = events.redact(("messages", (AIMessageChunk("mple.com", id="m"), META)))
    assert [each[1][0].content for each in first] == ["mail"]
    assert second == []
    ((mode, (chunk, meta)),) = events.rest()
    assert (mode, meta, chunk.id, chunk.chunk_position) == ("messages", META, "m", None)
    assert resolve(chunk.content, objects.texts.taken()) == " ann@example.com"
    assert events.rest() == []


def test_words_come_as_the_model_writes_them_and_the_first_chunk_at_once(objects: RunObjects) -> None:
    events = Stream(objects)
    pieces = ["", "the", " tea", " is", " green", " and", " hot"]
    shown = [events.redact(("messages", (AIMessageChunk(piece, id="m"), META))) for piece in pieces]
    contents = [[each[1][0].content for each in some] for some in shown]
    assert contents == [[""], [], ["the"], [" tea"], [" is"], [" green"], [" and"]]


def test_what_only_later_words_tell_is_shown_as_it_is_written_and_masked_in_the_state(objects: RunObjects) -> None:
    events = Stream(objects)
    said = "Noted: opensesame is my password."
    pieces = [f" {word}".removeprefix(" Noted") for word in said.split()]
    streamed = [
        each[1][0].content
        for piece in ["Noted", *pieces]
        for each in events.redact(("messages", (AIMessageChunk(piece, id="m"), META)))
    ]
    assert "opensesame" in "".join(streamed)
    whole = {"messages": [AIMessage(said, id="m")]}
    for event in (("values", whole), ("updates", {"say": whole})):
        (shown,) = events.redact(event)
        assert "Noted: <SECRET> is my password." in str(shown)
        assert "opensesame" not in str(shown)


def test_numbers_of_tokens_are_added_up_and_signatures_and_foreign_metadata_dropped(objects: RunObjects) -> None:
    events = Stream(objects)
    usage = {"input_tokens": 2, "output_tokens": 3, "total_tokens": 5}
    pieces = [
        AIMessageChunk("a", id="m", usage_metadata=usage, additional_kwargs={"__x_thought_signatures__": {"a": "b"}}),
        AIMessageChunk("b", id="m", usage_metadata=usage, response_metadata={"headers": "x", "finish_reason": "stop"}),
        AIMessageChunk("", id="m", chunk_position="last"),
    ]
    shown = [each[1][0] for piece in pieces for each in events.redact(("messages", (piece, META)))]
    whole = shown[0] + shown[1]
    assert whole.usage_metadata is not None
    assert whole.usage_metadata["total_tokens"] == 10
    assert (whole.content, whole.response_metadata, whole.additional_kwargs) == ("ab", {"finish_reason": "stop"}, {})
    assert whole.chunk_position == "last"


def test_a_message_that_a_node_writes_in_pieces_is_held_back_too(objects: RunObjects) -> None:
    events = Stream(objects)
    shown = [
        each for piece in ("ann@exa", "mple.com") for each in events.redact(("custom", AIMessageChunk(piece, id="m")))
    ]
    text = "".join(chunk.content for _, chunk in [*shown, *events.rest()])
    assert resolve(text, objects.texts.taken()) == "ann@example.com" != text


def test_a_tools_message_in_pieces_comes_whole(objects: RunObjects) -> None:
    events = Stream(objects)
    for piece in ("ann@exa", "mple.com"):
        chunk = ToolMessageChunk(piece, tool_call_id=CALL, id="m")
        assert events.redact(("messages", (chunk, META))) == []
    ((_, (message, _)),) = events.rest()
    assert (message.tool_call_id, "ann" in message.content) == (CALL, False)


def test_what_a_tool_streams_is_held_back_until_it_ends(objects: RunObjects) -> None:
    events = Stream(objects)
    events.redact(
        ("tools", {"event": "tool-started", "tool_call_id": CALL, "tool_name": "x", "input": {"a": "b@c.com"}})
    )
    for piece in ("ann@exa", "mple.com"):
        delta = {"event": "tool-output-delta", "tool_call_id": CALL, "delta": piece}
        assert events.redact(("tools", delta)) == []
    (_, delta), (_, finished) = events.redact(
        ("tools", {"event": "tool-finished", "tool_call_id": CALL, "output": "ann@example.com"})
    )
    assert resolve(delta["delta"], objects.texts.taken()) == "ann@example.com"
    assert finished == {"event": "tool-finished", "tool_call_id": CALL, "output": finished["output"]}
    assert "ann" not in finished["output"]


def test_messages_in_the_state_keep_their_kinds_ids_and_calls(objects: RunObjects) -> None:
    call = {"name": "write", "args": {"to": "ann@example.com"}, "id": CALL, "type": "tool_call"}
    given = [
        HumanMessage("ann@example.com", id="ann@example.com"),
        AIMessage(
            [
                {"type": "thinking", "thinking": "ann@example.com", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "eHh4"},
                {"type": "tool_use", "id": CALL, "name": "write", "input": {"to": "ann@example.com"}},
            ],
            id="m2",
            tool_calls=[call],
            response_metadata={"model_name": "m", "id": "resp", "logprobs": ["ann@example.com"]},
        ),
        ToolMessage("ann@example.com", tool_call_id=CALL, artifact={"to": "ann@example.com"}, status="error"),
        RemoveMessage(id="m2"),
    ]
    ((_, payload),) = Stream(objects).redact(("values", {"messages": given}))
    human, said, tool, removed = payload["messages"]
    assert "ann@example.com" not in repr(payload)
    assert human.id not in (None, "ann@example.com")
    assert (said.id, said.tool_calls[0]["id"], said.response_metadata) == ("m2", CALL, {"model_name": "m"})
    assert [block["type"] for block in said.content] == ["thinking", "tool_use"]
    assert "signature" not in said.content[0]
    assert (tool.tool_call_id, tool.status) == (CALL, "error")
    assert isinstance(removed, RemoveMessage)
    assert removed.id == "m2"


def test_an_interrupt_keeps_its_id_and_its_schema(objects: RunObjects) -> None:
    given = Interrupt("ann@example.com?", id="1234567890" * 3, response_schema={"type": "string"})
    ((_, payload),) = Stream(objects).redact(("updates", {"__interrupt__": (given,)}))
    (shown,) = payload["__interrupt__"]
    assert (shown.id, shown.response_schema) == (given.id, {"type": "string"})
    assert "ann" not in shown.value


def test_the_name_of_a_request_is_in_no_checkpoint_event(objects: RunObjects) -> None:
    config = {
        "configurable": {"thread_id": "t", "checkpoint_id": str(uuid4()), "__discreet_request": "ref", "a": "b@c.com"}
    }
    payload = {"config": config, "parent_config": None, "values": {}, "metadata": {"step": 1}, "next": [], "tasks": []}
    ((_, shown),) = Stream(objects).redact(("checkpoints", payload))
    assert shown["config"]["configurable"].keys() == {"thread_id", "checkpoint_id", "a"}
    assert shown["config"]["configurable"]["checkpoint_id"] == config["configurable"]["checkpoint_id"]
    assert "b@c.com" not in repr(shown)


def event(kind: str, run: str, **data: Any) -> dict[str, Any]:
    return {"event": kind, "name": "n", "run_id": run, "parent_ids": [], "tags": [], "metadata": {}, "data": data}


def test_text_that_a_parser_streams_is_held_back_until_its_run_ends(objects: RunObjects) -> None:
    events = CallbackEvents(objects)
    events.redact(event("on_chain_start", "root", input={}))
    for piece in ("ann@exa", "mple.com"):
        assert events.redact(event("on_parser_stream", "p", chunk=piece)) == []
    rest, end = events.redact(event("on_parser_end", "p", output="ann@example.com"))
    assert (rest["event"], end["event"]) == ("on_parser_stream", "on_parser_end")
    assert resolve(rest["data"]["chunk"], objects.texts.taken()) == "ann@example.com"
    assert "ann" not in end["data"]["output"]


@pytest.mark.parametrize(
    "pieces",
    [
        [AddableDict(a="ann@exa"), AddableDict(a="mple.com")],
        [(AIMessageChunk("ann@exa"), {}), (AIMessageChunk("mple.com"), {})],
        [["ann@exa"], ["mple.com"]],
    ],
)
def test_pieces_in_something_else_are_not_shown(objects: RunObjects, pieces: list[Any]) -> None:
    events = CallbackEvents(objects)
    events.redact(event("on_chain_start", "root", input={}))
    assert [events.redact(event("on_chain_stream", "other", chunk=piece)) for piece in pieces] == [[], []]
    assert events.rest() == []


def test_what_the_graph_itself_yields_has_passed_before(objects: RunObjects) -> None:
    events = CallbackEvents(objects)
    events.redact(event("on_chain_start", "root", input={}))
    given = event("on_chain_stream", "root", chunk=("messages", (AIMessageChunk("x"), {})))
    assert events.redact(given) == [given]


def test_a_name_beside_the_engines_own_is_redacted_too(objects: RunObjects) -> None:
    shown = objects.engine({"thread_id": "ann@example.com", "bob@example.com": "carol@example.com"}, "metadata")
    assert shown.pop("thread_id") == "ann@example.com"
    assert "bob" not in str(shown)
    assert "carol" not in str(shown)
    assert len(shown) == 1


@pytest.mark.parametrize("mode", ["debug", "checkpoints", "tasks"])
def test_what_stands_under_names_of_the_engine_in_the_state_is_redacted(objects: RunObjects, mode: str) -> None:
    """A state, an input and metadata of the application's may have a name, an id, a step or tasks of their own."""
    own = {"name": "ann@example.com", "id": "ann@example.com", "tasks": [{"path": "ann@example.com"}]}
    config = {"configurable": {"thread_id": "t", "name": "ann@example.com"}, "metadata": own}
    task = {"id": "1", "name": "say", "input": own, "result": own, "interrupts": [{"id": "2", "value": own}]}
    told = {"config": config, "metadata": own, "values": own, "next": ["say"], "tasks": [{**task, "state": config}]}
    payload = {"type": "task", "step": 1, "payload": {**told, **task}} if mode == "debug" else {**told, **task}
    ((_, shown),) = Stream(objects).redact((mode, payload))
    assert "ann@example.com" not in repr(shown)
    inner = shown["payload"] if mode == "debug" else shown
    assert (inner["tasks"][0]["name"], inner["tasks"][0]["interrupts"][0]["id"]) == ("say", "2")
