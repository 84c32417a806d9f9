"""What a run gets back of its request: the parts in their places, and nothing that the server decides."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langgraph.types import Command, Send

from discreet.graph.guard.requests import Call, resolved
from discreet.state.request_ref import REQUEST_PARTS, REQUEST_REF, part_key

INTERRUPT = "0f0293eb35a7e9bd7b64038cfb016898"


def held(**parts: Any) -> dict[str, str]:
    assert parts.keys() <= set(REQUEST_PARTS)
    return {part_key(name): json.dumps(part) for name, part in parts.items()}


def test_raw_input_takes_the_place_of_the_redacted() -> None:
    raw = {"messages": [{"role": "user", "content": "ann@example.com"}]}
    assert resolved(Call({"messages": []}), held(input=raw)).input == raw


def test_what_was_not_redacted_stays() -> None:
    call = Call({"a": 1}, {"configurable": {"thread_id": "t"}}, {"context": {"b": 2}})
    same = resolved(call, {})
    assert (same.input, same.config, same.options) == (call.input, call.config, call.options)


@pytest.mark.parametrize(
    ("given", "raw", "expected"),
    [
        (Command(resume="<EMAIL>"), {"resume": "ann@example.com"}, Command(resume="ann@example.com")),
        (Command(update={"a": "<EMAIL>"}), {"update": {"a": "b@example.com"}}, Command(update={"a": "b@example.com"})),
        (
            Command(update=[("a", "<EMAIL>")]),
            {"update": [["a", "b@example.com"]]},
            Command(update=[("a", "b@example.com")]),
        ),
        (
            Command(goto=["x", Send("y", {"z": "<EMAIL>"})]),
            {"goto": ["x", {"node": "y", "input": {"z": "b@example.com"}}]},
            Command(goto=["x", Send("y", {"z": "b@example.com"})]),
        ),
        (
            Command(goto=[Send("<EMAIL>", "<EMAIL>")]),
            {"goto": {"node": "y", "input": 1}},
            Command(goto=[Send("<EMAIL>", 1)]),
        ),
        (Command(resume="yes"), {"resume": "yes", "goto": "x", "update": {"a": 1}}, Command(resume="yes")),
    ],
)
def test_a_command_gets_the_raw_fields_of_those_it_has(
    given: Command[Any], raw: dict[str, Any], expected: Command[Any]
) -> None:
    assert resolved(Call(given), held(command=raw)).input == expected


def test_in_the_event_protocol_the_parts_stand_beside_each_other() -> None:
    given = Command(resume={INTERRUPT: "<EMAIL>"}, update={"a": "<EMAIL>"}, goto=["x"])
    raw = held(input={INTERRUPT: "ann@example.com"}, update={"a": "b@example.com"}, goto="x")
    expected = Command(resume={INTERRUPT: "ann@example.com"}, update={"a": "b@example.com"}, goto=["x"])
    assert resolved(Call(given), raw).input == expected


def test_a_bare_answer_goes_under_the_question_that_the_server_found() -> None:
    given = Command(resume={INTERRUPT: {"to": "<EMAIL>"}})
    raw = held(input={"to": "ann@example.com"})
    assert resolved(Call(given), raw).input == Command(resume={INTERRUPT: {"to": "ann@example.com"}})


def test_only_keys_of_the_context_that_arrived_are_replaced_and_their_mirror_too() -> None:
    context = {"style": "<EMAIL>", "other": 1}
    config = {"configurable": {"style": "<EMAIL>", "thread_id": "t", REQUEST_REF: "ref"}, "tags": ["x"]}
    raw = held(context={"style": "ann@example.com", "other": 1, "dropped": "b@example.com"})
    call = resolved(Call(None, config, {"context": context}), raw)
    assert call.options["context"] == {"style": "ann@example.com", "other": 1}
    assert call.config == {
        "configurable": {"style": "ann@example.com", "thread_id": "t", REQUEST_REF: "ref"},
        "tags": ["x"],
    }
    assert (config["configurable"]["style"], context["style"]) == ("<EMAIL>", "<EMAIL>")


@pytest.mark.parametrize(
    "key", ["user_id", "thread_id", "run_id", "checkpoint_id", "langgraph_auth_user", REQUEST_REF, "__pregel_store"]
)
def test_what_the_server_decides_is_never_taken_from_a_request(key: str) -> None:
    config = {"configurable": {key: "server's"}}
    call = resolved(Call(None, config, {"context": {key: "server's"}}), held(context={key: "mine"}))
    assert call.configurable[key] == call.options["context"][key] == "server's"


def test_a_value_of_the_configuration_that_does_not_mirror_the_context_stays() -> None:
    call = Call(None, {"configurable": {"style": "other"}}, {"context": {"style": "<EMAIL>"}})
    assert resolved(call, held(context={"style": "ann@example.com"})).configurable == {"style": "other"}


def test_a_part_that_is_no_json_is_said() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        resolved(Call({}), {part_key("input"): "{ann"})


def test_nothing_raw_is_in_what_a_call_shows() -> None:
    assert repr(resolved(Call({}), held(input="ann@example.com"))) == "Call()"


def test_labels_of_rows_stay_redacted() -> None:
    clean = {"agent_id": "<EMAIL>", "app_name": "<EMAIL>", "note": "<EMAIL>"}
    raw = dict.fromkeys(clean, "ann@example.com")
    same = resolved(Call(None, {"configurable": dict(clean)}, {"context": dict(clean)}), held(context=raw))
    assert same.options["context"] == {**clean, "note": "ann@example.com"}
    assert same.configurable == {**clean, "note": "ann@example.com"}
