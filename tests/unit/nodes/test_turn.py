from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from discreet.nodes.turn import recent_rounds, tool_rounds, turn_text

CALL = {"name": "t", "args": {}, "id": "c1"}


def conversation(rounds):
    return [m for i in range(rounds) for m in (HumanMessage(f"q{i}"), AIMessage(f"a{i}"))]


def test_the_last_rounds_and_the_running_turn_stay():
    messages = [*conversation(9), HumanMessage("now")]
    kept = recent_rounds(messages, 6)
    assert [m.content for m in kept] == [f"{who}{i}" for i in range(3, 9) for who in "qa"] + ["now"]


def test_a_short_conversation_stays_whole():
    messages = [*conversation(2), HumanMessage("now")]
    assert recent_rounds(messages, 6) == messages


def test_tool_traffic_of_earlier_turns_is_left_out_and_that_of_the_running_turn_stays():
    earlier = [HumanMessage("q"), AIMessage("", tool_calls=[CALL]), ToolMessage("r", tool_call_id="c1"), AIMessage("a")]
    running = [HumanMessage("now"), AIMessage("", tool_calls=[CALL]), ToolMessage("r", tool_call_id="c1")]
    assert recent_rounds([*earlier, *running], 6) == [earlier[0], earlier[3], *running]


def test_a_dangling_tool_call_of_a_failed_turn_is_left_out():
    messages = [HumanMessage("q"), AIMessage("", tool_calls=[CALL]), HumanMessage("now")]
    assert [m.content for m in recent_rounds(messages, 6)] == ["q", "now"]


def test_tool_rounds_count_in_the_running_turn_only():
    earlier = [HumanMessage("q"), AIMessage("", tool_calls=[CALL]), ToolMessage("r", tool_call_id="c1"), AIMessage("a")]
    assert tool_rounds([*earlier, HumanMessage("now"), AIMessage("", tool_calls=[CALL])]) == 1


def test_the_text_of_a_turn_is_the_users():
    assert turn_text([HumanMessage("one"), AIMessage("two")]) == "one"
    assert turn_text([]) == ""
