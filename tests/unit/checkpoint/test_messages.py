from uuid import UUID, uuid4

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage

from discreet.checkpoint.answers import is_answer
from discreet.checkpoint.message_ids import safe_id, take_ids
from discreet.checkpoint.messages import (
    Chosen,
    Said,
    Turn,
    dangling,
    fold,
    last_users,
    rebuild,
    select,
    without_dead_calls,
)
from discreet.checkpoint.user_input import UserInput, as_messages, came_first

CALL = {"name": "look_up", "args": {}, "id": "1"}


def chosen(*messages, closed=True):
    return [message.text for message in select(messages, turn=Turn.OVER if closed else Turn.OPEN).messages]


def test_of_a_closed_turn_the_question_and_all_answers_are_kept():
    turn = [
        HumanMessage("question"),
        AIMessage("first answer"),
        AIMessage("let me see", tool_calls=[CALL]),
        ToolMessage("result", tool_call_id="1"),
        AIMessage("answer"),
        SystemMessage("logged"),
    ]
    assert chosen(*turn) == ["question", "first answer", "answer"]


@pytest.mark.parametrize(("turn", "seen"), [(Turn.OVER, ["1", "let me see"]), (Turn.PAUSED, ["1", "let me see"])])
def test_text_beside_a_call_is_the_answer_of_a_turn_that_ends_or_pauses_there(turn, seen):
    messages = [HumanMessage("1"), AIMessage("let me see", tool_calls=[CALL])]
    assert [message.text for message in select(messages, turn=turn).messages] == seen
    assert not select(messages, turn=turn).complete


def test_a_tool_that_ends_a_turn_is_named_and_its_text_stored_if_it_is_listed():
    messages = [
        HumanMessage("1"),
        AIMessage("", tool_calls=[CALL]),
        ToolMessage("raw", name="look_up", tool_call_id="1"),
    ]
    assert chosen(*messages) == ["1", "(Answered by the tool look_up.)"]
    told = select(messages, turn=Turn.OVER, said=Said(told_tools=("look_up",))).messages
    assert [message.text for message in told] == ["1", "raw"]


def test_a_structured_response_is_an_answer():
    messages = [
        HumanMessage("1"),
        AIMessage("", tool_calls=[CALL]),
        ToolMessage("raw", name="Weather", tool_call_id="1"),
    ]
    kept = select(messages, turn=Turn.OVER, said=Said(structured={"city": "Hà Nội"})).messages
    assert [message.text for message in kept] == ["1", '{"city": "Hà Nội"}']


def test_only_what_came_in_is_the_users():
    came_in = UserInput()
    came_in.note({"messages": [HumanMessage("1", id="m1")], "question": "2"})
    came_in.note("3")
    messages = [
        HumanMessage("1 edited", id="m1"),
        AIMessage("a"),
        HumanMessage("by a tool"),
        HumanMessage("2"),
        HumanMessage("3"),
    ]
    kept = select(messages, turn=Turn.OVER, said=Said(came_in=came_in)).messages
    assert [message.text for message in kept] == ["1", "a", "2", "3"]


def test_a_summary_of_a_middleware_is_never_the_users():
    summary = HumanMessage("raw summary", additional_kwargs={"lc_source": "summarization"})
    messages = [summary, HumanMessage("1"), AIMessage("a")]
    assert chosen(*messages) == ["1", "a"]
    assert select(messages, turn=Turn.OVER, said=Said(summaries=True)).messages == messages
    assert last_users([HumanMessage("1"), summary], Said(summaries=True)) == 0


@pytest.mark.parametrize(
    ("stored", "messages", "came"),
    [
        ([], [HumanMessage("1"), AIMessage("a"), HumanMessage("2"), AIMessage("b")], ["1", "2"]),
        ([], [HumanMessage("1"), AIMessage("", tool_calls=[CALL]), HumanMessage("raw")], ["1"]),
        (["m1"], [HumanMessage("1", id="m1"), HumanMessage("2"), AIMessage("b"), HumanMessage("raw")], ["2"]),
        (["m1"], [HumanMessage("raw"), HumanMessage("1", id="m1")], []),
    ],
)
def test_an_input_that_langgraph_does_not_show_is_what_follows_the_stored_messages(stored, messages, came):
    assert [message.text for message in came_first(messages, stored)] == came


def test_of_an_open_turn_only_the_question_is_kept():
    assert chosen(HumanMessage("question"), AIMessage("answer?"), closed=False) == ["question"]


def test_the_next_question_closes_a_turn():
    messages = [HumanMessage("1"), AIMessage("answer"), HumanMessage("2")]
    assert chosen(*messages, closed=False) == ["1", "answer", "2"]


def test_a_turn_that_was_left_at_a_tool_call_has_no_answer():
    messages = [HumanMessage("1"), AIMessage("let me see", tool_calls=[CALL]), HumanMessage("2")]
    assert chosen(*messages) == ["1", "2"]


def test_what_was_said_in_a_turn_that_never_ended_is_no_answer():
    messages = [HumanMessage("1"), AIMessage("plan"), HumanMessage("2"), AIMessage("answer"), HumanMessage("3")]
    kept = select(messages, turn=Turn.OPEN, said=Said(unended={"plan"})).messages
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
        ([HumanMessage("1"), AIMessage("answer"), SystemMessage("note")], False),
        ([], True),
    ],
)
def test_a_selection_is_complete_if_the_running_turn_could_go_on_from_it(messages, complete):
    assert select(messages, turn=Turn.OPEN).complete is complete


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


@pytest.mark.parametrize(
    "client_id",
    [
        "m1",
        "user-12345",
        "1700000000001-user",
        "thread:42:7",
        "resp_" + "9b84070f110d" * 4,
        "chatcmpl-CMJ7tdcQ6lBimx9W",
    ],
)
def test_ids_of_clients_that_tell_nothing_are_kept(client_id):
    assert safe_id(client_id) == client_id


@pytest.mark.parametrize(
    "client_id", ["anna@example.com-1", "84912345678", "4111-1111-1111-1111", "m" * 65, "a b", "", "é"]
)
def test_other_ids_become_uuids_that_stay(client_id):
    derived = safe_id(client_id)
    assert UUID(derived)
    assert safe_id(client_id) == derived
    assert safe_id(derived) == derived


def test_an_id_is_replaced_where_it_comes_in():
    messages = [HumanMessage("1", id="a b"), {"role": "user", "content": "2", "id": "a b"}, HumanMessage("3", id="")]
    take_ids(messages, lambda text: text)
    assert messages[0].id == messages[1]["id"] == safe_id("a b")
    assert UUID(messages[2].id)


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
