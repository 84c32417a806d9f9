from uuid import UUID, uuid4

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage

from discreet.checkpoint.messages import (
    Chosen,
    as_messages,
    dangling,
    fold,
    is_answer,
    rebuild,
    safe_id,
    select,
    without_dead_calls,
)

CALL = {"name": "look_up", "args": {}, "id": "1"}


def chosen(*messages, closed=True):
    return [message.text for message in select(messages, closed=closed).messages]


def test_of_a_closed_turn_the_question_and_the_last_answer_are_kept():
    turn = [
        HumanMessage("question"),
        AIMessage("plan"),
        AIMessage("", tool_calls=[CALL]),
        ToolMessage("result", tool_call_id="1"),
        AIMessage("answer"),
    ]
    assert chosen(*turn) == ["question", "answer"]


def test_of_an_open_turn_only_the_question_is_kept():
    assert chosen(HumanMessage("question"), AIMessage("answer?"), closed=False) == ["question"]


def test_the_next_question_closes_a_turn():
    messages = [HumanMessage("1"), AIMessage("answer"), HumanMessage("2")]
    assert chosen(*messages, closed=False) == ["1", "answer", "2"]


def test_a_turn_that_ended_in_a_tool_call_has_no_answer():
    messages = [HumanMessage("1"), AIMessage("let me see", tool_calls=[CALL]), HumanMessage("2")]
    assert chosen(*messages) == ["1", "2"]


def test_what_was_said_in_a_turn_that_never_ended_is_no_answer():
    messages = [HumanMessage("1"), AIMessage("plan"), HumanMessage("2"), AIMessage("answer"), HumanMessage("3")]
    kept = select(messages, closed=False, unended={"plan"}).messages
    assert [message.text for message in kept] == ["1", "2", "answer", "3"]


def test_system_messages_are_never_kept():
    assert chosen(SystemMessage("secret prompt"), HumanMessage("1")) == ["1"]


@pytest.mark.parametrize(
    ("messages", "complete"),
    [
        ([HumanMessage("1")], True),
        ([HumanMessage("1"), AIMessage("plan")], False),
        ([HumanMessage("1"), AIMessage("", tool_calls=[CALL]), HumanMessage("2")], True),
        ([HumanMessage([{"type": "image", "url": "x"}])], False),
        ([SystemMessage("prompt")], False),
        ([], True),
    ],
)
def test_a_selection_is_complete_if_the_running_turn_could_go_on_from_it(messages, complete):
    assert select(messages, closed=False).complete is complete


@pytest.mark.parametrize(
    "message",
    [
        AIMessage(""),
        AIMessage([{"type": "reasoning", "reasoning": "hm"}]),
        AIMessage("x", tool_calls=[CALL]),
        AIMessage("x", additional_kwargs={"function_call": {}}),
        AIMessage([{"type": "text", "text": "x"}, {"type": "tool_use", "id": "1", "name": "n", "input": {}}]),
        HumanMessage("x"),
    ],
)
def test_what_is_no_answer(message):
    assert not is_answer(message)


def test_a_rebuilt_message_has_an_id_and_a_redacted_text_and_nothing_else(policy):
    message = AIMessage(
        [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "to anna@example.com\0"}],
        id=str(uuid4()),
        name="bot",
        response_metadata={"model": "m"},
        additional_kwargs={"x": 1},
    )
    assert rebuild(message, policy) == AIMessage("to <EMAIL>", id=message.id)


def test_rebuilding_is_idempotent(policy):
    once = rebuild(HumanMessage("I am anna@example.com", id="mine"), policy)
    assert rebuild(once, policy) == once


def test_a_removal_keeps_its_meaning(policy):
    assert rebuild(RemoveMessage(id="__remove_all__"), policy).id == "__remove_all__"
    assert rebuild(RemoveMessage(id="mine"), policy).id == rebuild(HumanMessage("x", id="mine"), policy).id


@pytest.mark.parametrize(
    "engine_id", [str(uuid4()), f"run-{uuid4()}", f"lc_run--{uuid4()}-0"], ids=["uuid", "run", "lc_run"]
)
def test_ids_of_the_engine_are_kept(engine_id):
    assert safe_id(engine_id) == engine_id


def test_other_ids_become_uuids_that_stay():
    derived = safe_id("anna@example.com-1")
    assert UUID(derived)
    assert safe_id("anna@example.com-1") == derived
    assert safe_id(derived) == derived


@pytest.mark.parametrize("value", ["hi", ("user", "hi"), {"role": "user", "content": "hi"}, [HumanMessage("hi")]])
def test_a_write_is_read_as_messages_however_it_is_given(value):
    (message,) = as_messages(value)
    assert (message.type, message.text) == ("human", "hi")


@pytest.mark.parametrize("value", [7, object(), {"no": "message"}, [["a", "b", "c"]]])
def test_a_write_that_is_no_message_is_none(value):
    assert as_messages(value) is None


def calls(*ids):
    return AIMessage("", tool_calls=[{**CALL, "id": call_id} for call_id in ids])


def result(call_id):
    return ToolMessage("result", tool_call_id=call_id)


@pytest.mark.parametrize(
    ("messages", "dangles"),
    [
        ([], False),
        ([HumanMessage("1"), calls("a")], True),
        ([HumanMessage("1"), calls("a", "b"), result("a")], True),
        ([HumanMessage("1"), calls("a", "b"), result("b"), result("a")], False),
        ([HumanMessage("1"), calls("a"), HumanMessage("2")], False),
        ([HumanMessage("1"), AIMessage("answer")], False),
    ],
)
def test_calls_dangle_until_each_has_its_result(messages, dangles):
    assert dangling(messages) is dangles


def test_calls_that_nothing_can_answer_any_more_go_and_the_others_stay():
    open_call = calls("c")
    before = [HumanMessage("1"), calls("a"), result("a"), calls("b", "x"), result("b"), HumanMessage("2"), open_call]
    assert without_dead_calls(before) == [*before[:3], *before[5:]]
    assert without_dead_calls([HumanMessage("1"), AIMessage("answer")]) == [HumanMessage("1"), AIMessage("answer")]
    assert without_dead_calls([calls("a"), HumanMessage("2"), calls("b"), HumanMessage("3")]) == [
        HumanMessage("2"),
        HumanMessage("3"),
    ]


def test_an_input_is_folded_in_as_langgraph_would():
    message, new = HumanMessage("old", id="1"), HumanMessage("new", id="2")
    old = Chosen.of([message])
    assert fold(old, [new]) == [*old, new]
    assert fold(old, [HumanMessage("changed", id="1")]) == [HumanMessage("changed", id="1")]
    assert fold(old, [RemoveMessage(id="1"), new]) == [new]
    assert fold(old, [RemoveMessage(id="__remove_all__"), new]) == [new]
    assert fold(old, [RemoveMessage(id="not stored"), new]) == [*old, new]


def test_a_message_changed_after_it_was_chosen_is_stored_as_it_was():
    message = HumanMessage("as it was", id="1")
    chosen = Chosen.of([message])
    message.content, message.id, message.additional_kwargs = "raw", "raw", {"raw": 1}
    assert chosen.copied() == [HumanMessage("as it was", id="1")]
    assert fold(chosen, [RemoveMessage(id="x")]) == [HumanMessage("as it was", id="1")]
