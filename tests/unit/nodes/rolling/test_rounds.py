import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from discreet.nodes.rounds import belongs, rounds_of, window
from discreet.ports import RollingSummary, SpokenRound


def spoken(messages):
    return [(each.spoken.said, each.spoken.answered, each.answer_id) for each in rounds_of(messages)]


def test_a_round_is_a_message_and_its_answer():
    messages = [HumanMessage("Hi", id="1"), AIMessage("Hello", id="2"), HumanMessage("Tea?", id="3")]
    assert spoken(messages) == [("Hi", "Hello", "2")]
    assert rounds_of(messages)[0].spoken == SpokenRound(said="Hi", answered="Hello")


def test_messages_without_an_answer_join_the_next_round():
    messages = [HumanMessage("Hi", id="1"), HumanMessage("There?", id="2"), AIMessage("Yes", id="3")]
    assert spoken(messages) == [("Hi\nThere?", "Yes", "3")]


def test_several_answers_are_one_round_that_ends_with_the_last():
    messages = [HumanMessage("Hi", id="1"), AIMessage("One", id="2"), AIMessage("Two", id="3")]
    assert spoken(messages) == [("Hi", "One\nTwo", "3")]


def test_tool_traffic_is_in_no_round_and_a_greeting_in_the_first():
    call = {"name": "find", "args": {}, "id": "call"}
    messages = [
        SystemMessage("Be kind", id="0"),
        AIMessage("Welcome", id="1"),
        HumanMessage("Hi", id="2"),
        AIMessage("Looking", id="3", tool_calls=[call]),
        ToolMessage("found", tool_call_id="call", id="4"),
        AIMessage("Here", id="5"),
    ]
    assert spoken(messages[:3]) == []
    more = [HumanMessage("Tea?", id="6"), AIMessage("Tea", id="7")]
    assert spoken([*messages, *more]) == [("Hi", "Welcome\nHere", "5"), ("Tea?", "Tea", "7")]


def test_a_summary_belongs_to_the_branch_whose_answer_it_ends_with(build):
    rounds = rounds_of(build.talk(8))
    assert belongs(RollingSummary(), rounds)
    assert belongs(RollingSummary(text="x", rounds=5, last_message_id="a5"), rounds)
    assert not belongs(RollingSummary(text="x", rounds=5, last_message_id="other-a5"), rounds)
    assert not belongs(RollingSummary(text="x", rounds=10, last_message_id="a10"), rounds)
    assert not belongs(RollingSummary(rounds=5, last_message_id="a5", is_readable=False), rounds)


def test_messages_without_ids_prove_nothing():
    rounds = rounds_of([HumanMessage("Hi"), AIMessage("Hello")])
    assert not belongs(RollingSummary(text="x", rounds=1, last_message_id=None), rounds)


@pytest.mark.parametrize(
    ("rounds", "covered", "first"),
    [(0, 0, None), (3, 0, 1), (6, 5, 1), (12, 10, 7), (12, 5, 6), (12, 12, 7), (12, 0, 1), (40, 40, 35)],
)
def test_the_window_has_the_last_six_rounds_and_all_that_is_not_covered(build, rounds, covered, first):
    running = HumanMessage("now", id="now")
    kept = window([*build.talk(rounds), running], RollingSummary(rounds=covered))
    assert kept[-1] is running
    expected = [] if first is None else build.talk(rounds, start=first)
    assert [m.id for m in kept[:-1]] == [m.id for m in expected]


def test_without_rounds_to_keep_and_with_all_covered_the_running_turn_is_left(build):
    messages = [*build.talk(5), HumanMessage("lost", id="lost"), HumanMessage("now", id="now")]
    assert [m.id for m in window(messages, RollingSummary(rounds=5), keep=0)] == ["lost", "now"]


def test_the_running_turn_stays_whole_and_older_tool_traffic_goes(build):
    call = {"name": "find", "args": {}, "id": "call"}
    traffic = [AIMessage("", id="c", tool_calls=[call]), ToolMessage("found", tool_call_id="call", id="r")]
    older, running = build.talk(2), HumanMessage("now", id="now")
    kept = window([*older[:3], *traffic, older[3], running, *traffic], RollingSummary())
    assert [m.id for m in kept] == ["q1", "a1", "q2", "a2", "now", "c", "r"]


def test_without_a_message_of_the_user_nothing_is_cut():
    messages = [AIMessage("Welcome", id="1")]
    assert window(messages, RollingSummary()) == messages
