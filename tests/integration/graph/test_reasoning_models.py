"""Reasoning that a model writes into its text is needed while its turn runs, and is nowhere afterwards."""

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from testkit.savers import opened_saver

from discreet.checkpoint import RedactingSaver
from discreet.graph import build_graph
from discreet.graph.middleware import MemoryMiddleware
from discreet.nodes.assistant import SILENT
from discreet.nodes.masking import TurnMask
from discreet.nodes.persist_filtered import make_persist_filtered
from discreet.redaction import InMemoryTurnVault
from discreet.state.context import Context
from discreet.testing import InMemoryConversationLog, ScriptedChatModel

THREAD = {"configurable": {"thread_id": "1", "user_id": "ann"}}
ANN = Context(user_id="ann")
THOUGHT = "<think>planted: she wants the time</think>\n"
CALL = {"name": "clock", "args": {}, "id": "call_1"}


@tool
def clock() -> str:
    """Tell the time."""
    return "noon"


def script():
    answers = [
        AIMessage(f"{THOUGHT}Let me see.", tool_calls=[CALL]),
        AIMessage(f"{THOUGHT}It is noon."),
        AIMessage("Ok."),
    ]
    return ScriptedChatModel(responses=answers)


@pytest.fixture(params=["memory", "redacting_postgres"])
async def saver(request, database):
    async with opened_saver(request.param, database) as saver:
        yield saver


async def test_it_is_told_within_the_turn_and_nowhere_afterwards(saver):
    model, log = script(), InMemoryConversationLog()
    builder = build_graph(chat_model=model, tools=[clock], log=log, vault=InMemoryTurnVault())
    graph = builder.compile(checkpointer=saver)
    state = await graph.ainvoke({"messages": [("user", "What time is it?")]}, THREAD, context=ANN)
    steps = [f"{THOUGHT}Let me see.", "noon", f"{THOUGHT}It is noon."] if isinstance(saver, RedactingSaver) else []
    assert [m.content for m in state["messages"]] == ["What time is it?", *(steps or ["It is noon."])]
    assert THOUGHT in model.prompts[1][-2].text, "the provider gets back what its model wrote"
    await graph.ainvoke({"messages": [("user", "Thanks, is that so?")]}, THREAD, context=ANN)
    assert "planted" not in repr(model.prompts[2])
    assert "planted" not in repr(log.turns)
    assert "planted" not in repr([each async for each in saver.alist(THREAD)])


async def test_an_answer_of_reasoning_alone_is_no_answer():
    model = ScriptedChatModel(responses=[AIMessage("<think>planted: nothing to say")])
    state = await build_graph(chat_model=model).compile().ainvoke({"messages": [("user", "Hm?")]})
    assert state["messages"][-1].content == SILENT


def test_it_leaves_the_state_of_agents_and_of_blocking_graphs_too():
    model = script()
    middleware = MemoryMiddleware(vault=InMemoryTurnVault(), model="offline")
    agent = create_agent(model, tools=[clock], middleware=[middleware], checkpointer=InMemorySaver())
    state = agent.invoke({"messages": [("user", "What time is it?")]}, THREAD)
    assert [m.content for m in state["messages"]] == ["What time is it?", "It is noon."]
    graph = build_graph(chat_model=script(), tools=[clock]).compile(checkpointer=InMemorySaver())
    state = graph.invoke({"messages": [("user", "What time is it?")]}, THREAD, context=ANN)
    assert "planted" not in repr(state)


async def test_the_node_of_another_graph_leaves_it_out():
    async def answer(state):
        return {"messages": [AIMessage(f"{THOUGHT}It is noon.")]}

    graph = (
        StateGraph(MessagesState)
        .add_node(answer)
        .add_node("persist_filtered", make_persist_filtered(mask=TurnMask(masks=True)))
    )
    graph.add_edge(START, "answer").add_edge("answer", "persist_filtered")
    state = await graph.compile().ainvoke({"messages": [HumanMessage("What time is it?")]})
    assert [m.content for m in state["messages"]] == ["What time is it?", "It is noon."]


async def test_the_checkpointer_keeps_it_out_of_anybodys_rows(database):
    async def answer(state):
        thought = len(state["messages"]) > 1
        return {"messages": [AIMessage(THOUGHT if thought else f"{THOUGHT}It is noon.")]}

    async with RedactingSaver.from_conn_string(database) as saver:
        await saver.setup()
        graph = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer").compile(checkpointer=saver)
        await graph.ainvoke({"messages": [("user", "What time is it?")]}, THREAD)
        await graph.ainvoke({"messages": [("user", "And now?")]}, THREAD)
    async with RedactingSaver.from_conn_string(database) as saver:
        found = (await saver.aget_tuple(THREAD)).checkpoint["channel_values"]["messages"]
    assert [m.content for m in found] == ["What time is it?", "It is noon.", "And now?"]
