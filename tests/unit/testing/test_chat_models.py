import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

from discreet.testing import DanglingToolCallError, ScriptedChatModel

CALL = {"name": "lookup", "args": {"query": "đơn hàng", "limit": 3}, "id": "c1", "type": "tool_call"}


@tool
def lookup(query: str, limit: int) -> str:
    """Look something up."""


def test_it_plays_the_script_and_records_prompts_and_tools():
    model = ScriptedChatModel(
        responses=[AIMessage("One."), lambda messages: AIMessage(messages[-1].text.upper()), ValueError("as scripted")]
    )
    assert model.invoke("a").content == "One."
    assert model.bind_tools([lookup]).invoke("b").content == "B"
    with pytest.raises(ValueError, match="as scripted"):
        model.invoke("c")
    with pytest.raises(IndexError):
        model.invoke("d")
    assert [[m.content for m in prompt] for prompt in model.prompts] == [["a"], ["b"], ["c"], ["d"]]
    assert model.tools == [[], ["lookup"], [], []]


async def test_it_streams_text_and_tool_calls_in_pieces():
    message = AIMessage("Let me look that up.", tool_calls=[CALL])
    model = ScriptedChatModel(responses=[message] * 2)
    for chunks in (list(model.stream("x")), [chunk async for chunk in model.astream("x")]):
        total = sum(chunks[1:], chunks[0])
        assert len(chunks) > 7
        assert total.content == message.content
        assert total.tool_calls == [CALL]


def test_callers_do_not_change_the_script():
    model = ScriptedChatModel(responses=[AIMessage("One.")] * 2)
    model.invoke("x").content = "changed"
    assert model.invoke("x").content == "One."


ASKED = [HumanMessage("x"), AIMessage("", tool_calls=[CALL])]
ANSWER = ToolMessage("found", tool_call_id="c1")


@pytest.mark.parametrize(
    "messages",
    [
        ASKED,
        [*ASKED, HumanMessage("y"), ANSWER],
        [HumanMessage("x"), ANSWER],
        [*ASKED, ANSWER, ANSWER],
        [*ASKED, ToolMessage("found", tool_call_id="other")],
    ],
)
def test_dangling_tool_calls_are_refused_as_providers_do(messages):
    with pytest.raises(DanglingToolCallError, match=r"c1|other"):
        ScriptedChatModel(responses=[AIMessage("Done.")]).invoke(messages)
    lenient = ScriptedChatModel(responses=[AIMessage("Done.")], strict=False)
    assert lenient.invoke(messages).content == "Done."


def test_answered_tool_calls_pass():
    model = ScriptedChatModel(responses=[AIMessage("Done.")])
    assert model.invoke([*ASKED, ANSWER, AIMessage("Done."), HumanMessage("y")]).content == "Done."
