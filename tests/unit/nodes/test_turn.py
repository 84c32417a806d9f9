from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from discreet.nodes.turn import tool_rounds, turn_text

CALL = {"name": "t", "args": {}, "id": "c1"}


def test_tool_rounds_count_in_the_running_turn_only():
    earlier = [HumanMessage("q"), AIMessage("", tool_calls=[CALL]), ToolMessage("r", tool_call_id="c1"), AIMessage("a")]
    assert tool_rounds([*earlier, HumanMessage("now"), AIMessage("", tool_calls=[CALL])]) == 1


def test_the_text_of_a_turn_is_the_users():
    assert turn_text([HumanMessage("one"), AIMessage("two")]) == "one"
    assert turn_text([]) == ""
