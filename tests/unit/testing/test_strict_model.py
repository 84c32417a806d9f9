import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from discreet.testing import PromptRefusedError, StrictChatModel, check_prompt

USER = HumanMessage("x")
CALL = AIMessage("", tool_calls=[{"name": "look_up", "args": {}, "id": "c1"}])
RESULT = ToolMessage("found", tool_call_id="c1")


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([], "no message"),
        ([SystemMessage("rules")], "no message"),
        ([CALL, RESULT], "type ai"),
        ([RESULT], "type tool"),
        ([SystemMessage("rules"), AIMessage("hello")], "type ai"),
        ([USER, CALL], "without a result.*c1"),
        ([USER, CALL, USER, RESULT], "without a result.*c1"),
        ([USER, RESULT], "without a call.*c1"),
        ([USER, CALL, RESULT, USER, CALL, RESULT], "share an id.*c1"),
    ],
)
def test_a_prompt_that_providers_refuse_is_refused(messages, reason):
    with pytest.raises(PromptRefusedError, match=reason) as caught:
        check_prompt(messages)
    assert caught.value.status_code == 400


def test_a_prompt_in_order_is_answered_by_the_function():
    model = StrictChatModel(answer=lambda messages: AIMessage(f"{len(messages)} {messages[-1].text}"))
    prompt = [SystemMessage("rules"), USER, CALL, RESULT, AIMessage("done"), HumanMessage("more")]
    assert model.invoke(prompt).text == "6 more"
    assert model.prompts == [prompt]
    assert model.refused == 0


async def test_refusals_are_counted_also_when_streamed():
    model = StrictChatModel(answer=lambda _: AIMessage("never"))
    with pytest.raises(PromptRefusedError):
        list(model.stream([USER, CALL]))
    with pytest.raises(PromptRefusedError):
        await model.bind_tools([]).ainvoke([RESULT])
    assert model.refused == 2


def test_an_error_of_the_function_is_the_providers_error():
    def busy(_):
        raise TimeoutError

    with pytest.raises(TimeoutError):
        StrictChatModel(answer=busy).invoke("x")
