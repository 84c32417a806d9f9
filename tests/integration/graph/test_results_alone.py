"""The result of a client's tool as the only input: through `TurnRunner`, and through the graph of a server."""

import asyncio

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from discreet.checkpoint import RedactingSaver
from discreet.errors import StorageUnavailableError, TransientStateLostError, UnsupportedInputError
from discreet.graph import TurnRunner, build_graph
from discreet.graph.guard import guarded
from discreet.redaction import InMemoryTurnVault
from discreet.testing import InMemoryConversationLog, InMemoryShortTermStore, StrictChatModel

ANN, BOB = "ann@example.com", "bob@example.org"
THREAD = {"configurable": {"thread_id": "1", "user_id": "ann"}}


def answer(messages):
    given = [message.text for message in messages if isinstance(message, ToolMessage)]
    if not given:
        call = {"name": "look", "args": {"query": ANN}, "id": "c1"}
        return AIMessage(f"Looking for {ANN}.", id="a1", tool_calls=[call])
    return AIMessage(f"It says: {given[0]}", id="a2")


@pytest.fixture
def model():
    return StrictChatModel(answer=answer)


@pytest.fixture
def log():
    return InMemoryConversationLog()


@pytest.fixture(params=["stock", "redacting"])
def saver(request):
    return InMemorySaver() if request.param == "stock" else RedactingSaver(InMemorySaver())


@pytest.fixture(params=["runner", "guarded"])
def chat(request, model, log, saver):
    vault, store = InMemoryTurnVault(), InMemoryShortTermStore()
    graph = build_graph(chat_model=model, vault=vault, log=log).compile(checkpointer=saver)
    if request.param == "runner":
        return TurnRunner(graph, short_term=store, one_at_a_time=True)
    return guarded(graph, vault=vault, short_term=store)


@pytest.fixture(params=["ainvoke", "invoke", "astream", "stream"])
def send(request, chat):
    """Return what runs the chat with an input, and gives the messages of the last state."""

    async def streamed(given):
        return [state async for state in chat.astream(given, THREAD, stream_mode="values")][-1]

    ways = {
        "ainvoke": lambda given: chat.ainvoke(given, THREAD),
        "invoke": lambda given: asyncio.to_thread(chat.invoke, given, THREAD),
        "astream": streamed,
        "stream": lambda given: asyncio.to_thread(lambda: list(chat.stream(given, THREAD, stream_mode="values"))[-1]),
    }

    async def run(given):
        return (await ways[request.param](given))["messages"]

    return run


@pytest.mark.parametrize("by", ["input", "command"])
async def test_the_turn_goes_on_with_the_result(send, chat, saver, model, log, by):
    asked = await send({"messages": [HumanMessage(f"Look for {ANN}", id="m1")]})
    assert [call["id"] for call in asked[-1].tool_calls] == ["c1"]
    result = {"messages": [ToolMessage(f"A page of {BOB}", tool_call_id="c1", id="r1")]}
    ended = await send(result if by == "input" else Command(update=result, goto="assistant"))
    is_open = isinstance(saver, RedactingSaver)
    between = [("ai", "a1"), ("tool", "r1")] if is_open else []
    assert [(message.type, message.id) for message in ended] == [("human", "m1"), *between, ("ai", "a2")]
    assert [message.text for message in model.prompts[-1][1:]] == [
        f"Look for {ANN}",
        f"Looking for {ANN}.",
        f"A page of {BOB}",
    ]
    assert (BOB in ended[-1].text) is (is_open and isinstance(chat, TurnRunner))
    assert [turn.output_text for turn in log.turns] == ["It says: A page of <EMAIL>"]


async def test_a_result_that_comes_again_is_refused(chat, model):
    await chat.ainvoke({"messages": [HumanMessage(f"Look for {ANN}", id="m1")]}, THREAD)
    result = {"messages": [ToolMessage("A page", tool_call_id="c1", id="r1")]}
    await chat.ainvoke(result, THREAD)
    asked = len(model.prompts)
    with pytest.raises((UnsupportedInputError, TransientStateLostError)):
        await chat.ainvoke(result, THREAD)
    assert len(model.prompts) == asked
    assert model.refused == 0


async def test_a_result_of_no_call_is_refused(chat, model):
    with pytest.raises((UnsupportedInputError, TransientStateLostError)):
        await chat.ainvoke({"messages": [ToolMessage("A page", tool_call_id="c1")]}, THREAD)
    assert model.refused == 0
    ended = await chat.ainvoke({"messages": [HumanMessage("Look", id="m1")]}, THREAD)
    assert ended["messages"][-1].tool_calls


class Lost(InMemorySaver):
    lost = False

    async def aget_tuple(self, config):
        if self.lost:
            raise StorageUnavailableError
        return await super().aget_tuple(config)


async def test_without_the_checkpointer_no_result_is_answered(model, log):
    saver = Lost()
    graph = build_graph(chat_model=model, log=log).compile(checkpointer=saver)
    runner = TurnRunner(graph, short_term=InMemoryShortTermStore())
    await runner.ainvoke({"messages": [HumanMessage("Look", id="m1")]}, THREAD)
    saver.lost = True
    with pytest.raises(StorageUnavailableError):
        await runner.ainvoke({"messages": [ToolMessage("A page", tool_call_id="c1")]}, THREAD)
    assert model.refused == 0
    saver.lost = False
    ended = await runner.ainvoke({"messages": [ToolMessage("A page", tool_call_id="c1")]}, THREAD)
    assert ended["messages"][-1].text == "It says: A page"
