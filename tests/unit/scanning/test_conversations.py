import pytest
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage, message_to_dict
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from discreet.scanning.messages import as_message
from discreet.scanning.scrubbing.conversations import is_conversation, what_stays, without_content
from discreet.scanning.values.msgpack import pack, unpack

CALL = {"name": "look_up", "args": {"who": "ann"}, "id": "c1", "type": "tool_call"}
ASKED = HumanMessage("Who is it?", id="h1", additional_kwargs={"sender": "me"}, name="ann")
CALLS = AIMessage("I look it up.", id="a1", tool_calls=[CALL], response_metadata={"headers": {"a": "b"}})
RESULT = ToolMessage("It is Ann.", id="t1", tool_call_id="c1", artifact={"rows": [1]})
ANSWER = AIMessage("It is Ann, I think.", id="a2", response_metadata={"model": "m"})
NEXT = HumanMessage("And then?", id="h2")
TURN = [SystemMessage("Help.", id="s1"), ASKED, CALLS, RESULT, ANSWER]


def objects(messages):
    return unpack(JsonPlusSerializer().dumps_typed(messages)[1])


FORMS = {
    "objects": objects,
    "constructors": lambda messages: [dumpd(message) for message in messages],
    "dicts": lambda messages: [message.model_dump(mode="json") for message in messages],
    "type and data": lambda messages: [message_to_dict(message) for message in messages],
}


def said(items):
    """Return kind, id and text of messages, and nothing else if that is all they have."""
    found = [as_message(item) for item in items]
    told = []
    for message in found:
        extra = set(message.fields) - {"content", "id", "type", "role"}
        told.append((message.kind, message.fields["id"], message.fields["content"], *sorted(extra)))
    return told


USER, MODEL = "user messages", "model messages"


@pytest.mark.parametrize("form", FORMS)
def test_of_a_turn_that_is_over_question_and_answer_stay(form):
    kept = what_stays(FORMS[form](TURN), is_open=False, is_over=True)
    assert said(kept) == [(USER, "h1", "Who is it?"), (MODEL, "a2", "It is Ann, I think.")]


@pytest.mark.parametrize("form", FORMS)
def test_of_a_turn_that_is_open_all_stays(form):
    items = FORMS[form](TURN)
    kept = what_stays(items, is_open=True, is_over=False)
    assert kept[-4:] == items[-4:]


def test_of_a_turn_that_was_given_up_the_question_stays():
    kept = what_stays(objects(TURN[:3]), is_open=False, is_over=False)
    assert said(kept) == [(USER, "h1", "Who is it?")]


def test_turns_before_the_open_one_are_over():
    kept = what_stays(objects([*TURN, NEXT, CALLS]), is_open=True, is_over=False)
    assert said(kept[:2]) == [(USER, "h1", "Who is it?"), (MODEL, "a2", "It is Ann, I think.")]
    assert kept[2:] == objects([NEXT, CALLS])


def test_messages_of_objects_can_be_loaded_again():
    kept = what_stays(objects(TURN), is_open=False, is_over=True)
    loaded = JsonPlusSerializer().loads_typed(("msgpack", pack(kept)))
    assert loaded == [HumanMessage("Who is it?", id="h1"), AIMessage("It is Ann, I think.", id="a2")]


def test_it_comes_to_the_same_a_second_time():
    for form in FORMS.values():
        once = what_stays(form(TURN), is_open=False, is_over=True)
        assert what_stays(once, is_open=False, is_over=True) == once


def test_reasoning_and_media_go_and_texts_stay():
    question = HumanMessage([{"type": "text", "text": "See here."}, {"type": "image", "base64": "AAAA"}], id="h1")
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "A cat."}]
    kept = what_stays(objects([question, AIMessage(blocks, id="a1")]), is_open=False, is_over=True)
    assert said(kept) == [(USER, "h1", "See here.\n[image, 3 B]"), (MODEL, "a1", "A cat.")]


def test_removals_stay():
    removal = RemoveMessage(id="h1")
    items = objects([ASKED, ANSWER, removal])
    assert is_conversation(items)
    assert what_stays(items, is_open=False, is_over=True)[-1] == items[-1]


@pytest.mark.parametrize(
    "value", [[], ["text"], [{"role": "user"}], "text", None, [{"role": "user", "content": "a"}, 5], {"messages": []}]
)
def test_other_lists_are_no_conversations(value):
    assert not is_conversation(value)


@pytest.mark.parametrize("form", FORMS)
def test_a_result_that_stands_alone_keeps_what_it_belongs_to(form):
    (item,) = FORMS[form]([RESULT])
    message = as_message(without_content(item))
    assert message.fields["content"] == "[redacted]"
    assert (message.fields["tool_call_id"], message.fields["id"]) == ("c1", "t1")
    assert "artifact" not in message.fields


def test_what_a_user_said_alone_stays():
    (item,) = objects([ASKED])
    assert said([without_content(item)]) == [(USER, "h1", "Who is it?")]
