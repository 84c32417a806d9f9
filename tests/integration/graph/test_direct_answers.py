"""A tool with `return_direct` ends the turn, and an agent's structured response is its answer."""

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from discreet.checkpoint import CheckpointPolicy, RedactingSaver
from discreet.graph import build_graph
from discreet.graph.middleware import MemoryMiddleware
from discreet.redaction import InMemoryTurnVault
from discreet.state.context import Context
from discreet.testing import InMemoryConversationLog, ScriptedChatModel

THREAD = {"configurable": {"thread_id": "1", "user_id": "ann"}}
ANN = Context(user_id="ann")
ASKED = {"messages": [("user", "Show me my invoice.")]}
LINE = "(Answered by the tool get_invoice.)"
TEXT = "Invoice for planted.name@example.com: " + "12 apples, " * 200 + "THE END"


@tool(return_direct=True)
def get_invoice() -> str:
    """Show the invoice."""
    return TEXT


@tool(return_direct=True)
def broken() -> str:
    """Show nothing."""
    raise ToolException("no paper")


@tool
def clock() -> str:
    """Tell the time."""
    return "noon"


def calls(*names):
    return AIMessage("", tool_calls=[{"name": name, "args": {}, "id": f"call_{name}"} for name in names])


@pytest.fixture(params=["stock", "redacting"])
def saver(request):
    return InMemorySaver() if request.param == "stock" else RedactingSaver(InMemorySaver())


def build(model, *, log=None, **options):
    tools = [get_invoice, broken, clock]
    return build_graph(chat_model=model, tools=tools, log=log, vault=InMemoryTurnVault(), **options)


async def test_the_tool_ends_the_turn_and_its_text_is_not_kept(saver):
    model = ScriptedChatModel(responses=[calls("get_invoice"), AIMessage("You are welcome.")])
    log = InMemoryConversationLog()
    graph = build(model, log=log).compile(checkpointer=saver)
    shown = [update async for update in graph.astream(ASKED, THREAD, context=ANN, stream_mode="updates")]
    live = [
        m for update in shown for m in (update.get("tools") or {}).get("messages", ()) if isinstance(m, ToolMessage)
    ]
    assert "12 apples" in live[0].text, "who listens gets what the tool said"
    state = await graph.aget_state(THREAD)
    assert [m.content for m in state.values["messages"]] == ["Show me my invoice.", LINE]
    assert log.turns[0].output_text == LINE
    await graph.ainvoke({"messages": [("user", "Thanks!")]}, THREAD, context=ANN)
    assert [m.text for m in model.prompts[1][1:]] == ["Show me my invoice.", LINE, "Thanks!"]


@pytest.mark.parametrize("redacting", [False, True])
async def test_the_text_of_a_tool_that_may_be_told_is_kept_whole_and_redacted(redacting):
    """What the graph and the log may tell is up to `told_tools`; what our checkpointer stores, to its policy."""
    model, stock = ScriptedChatModel(responses=[calls("get_invoice")]), InMemorySaver()
    saver = RedactingSaver(stock, policy=CheckpointPolicy(direct_tools=["get_invoice"])) if redacting else stock
    graph = build(model, told_tools=["get_invoice"]).compile(checkpointer=saver)
    state = await graph.ainvoke(ASKED, THREAD, context=ANN)
    assert state["messages"][-1].text.endswith("THE END")
    answer = stock.get_tuple(THREAD).checkpoint["channel_values"]["messages"][-1].text
    assert answer.endswith("THE END")
    assert "12 apples" in answer
    assert "planted.name" not in answer


@pytest.mark.parametrize("names", [("clock",), ("get_invoice", "clock"), ("broken",)])
def test_the_model_speaks_where_another_tool_was_called_too_or_one_failed(names):
    model = ScriptedChatModel(responses=[calls(*names), AIMessage("Here.")])
    state = build(model).compile(checkpointer=InMemorySaver()).invoke(ASKED, THREAD, context=ANN)
    assert state["messages"][-1].content == "Here."


def test_an_agents_tool_that_ends_the_turn_answers_too():
    log = InMemoryConversationLog()
    middleware = MemoryMiddleware(log=log, vault=InMemoryTurnVault(), model="offline")
    model = ScriptedChatModel(responses=[calls("get_invoice")])
    agent = create_agent(model, tools=[get_invoice], middleware=[middleware], checkpointer=InMemorySaver())
    state = agent.invoke(ASKED, THREAD)
    assert [m.content for m in state["messages"]] == ["Show me my invoice.", LINE]
    assert log.turns[0].output_text == LINE


class Weather(BaseModel):
    """The weather in a city."""

    city: str
    contact: str


def test_an_agents_structured_response_is_the_answer():
    log = InMemoryConversationLog()
    middleware = MemoryMiddleware(log=log, vault=InMemoryTurnVault(), model="offline")
    args = {"city": "Hanoi", "contact": "planted.name@example.com"}
    model = ScriptedChatModel(responses=[AIMessage("", tool_calls=[{"name": "Weather", "args": args, "id": "c1"}])])
    agent = create_agent(
        model, middleware=[middleware], response_format=ToolStrategy(Weather), checkpointer=InMemorySaver()
    )
    state = agent.invoke({"messages": [("user", "How is Hanoi?")]}, THREAD)
    assert state["messages"][-1].text.startswith('{"city": "Hanoi", "contact": "<EMAIL')
    assert log.turns[0].output_text == '{"city": "Hanoi", "contact": "<EMAIL>"}'
