"""Nodes in graphs of every kind: with and without an event loop, whatever the schema of the state is."""

import asyncio
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from pydantic import BaseModel

from discreet.nodes.assistant import make_assistant
from discreet.nodes.memory_gate import make_memory_gate
from discreet.nodes.node import Node, read
from discreet.nodes.persist_filtered import make_persist_filtered
from discreet.nodes.retrieve_memories import make_retrieve_memories
from discreet.nodes.run import describe_run
from discreet.nodes.save_input import make_save_input
from discreet.nodes.tools import make_tools
from discreet.state.records import MemoryRecord
from discreet.testing import InMemoryConversationLog, InMemoryMemories, ScriptedChatModel


class TypedState(TypedDict, total=False):
    chat: Annotated[list[AnyMessage], add_messages]
    known: list[Any]
    topic: str


@dataclass
class DataclassState:
    chat: Annotated[list[AnyMessage], add_messages] = field(default_factory=list)
    known: list[Any] = field(default_factory=list)
    topic: str = ""


class ModelState(BaseModel):
    chat: Annotated[list[AnyMessage], add_messages] = []
    known: list[Any] = []
    topic: str = ""


@tool
def look_up(place: str) -> str:
    """Look something up."""
    return f"{place} is open, ask ann@example.com"


@pytest.fixture(params=[TypedState, DataclassState, ModelState])
def schema(request):
    return request.param


@pytest.fixture(params=["async", "blocking"])
def invoke(request):
    def run(graph, state, user="ann"):
        config = {"configurable": {"user_id": user, "thread_id": "1"}}
        if request.param == "async":
            return asyncio.run(graph.ainvoke(state, config))
        return graph.invoke(state, config)

    return run


def graph_of(schema, nodes):
    builder = StateGraph(schema)
    for before, after in zip([START, *nodes], [*nodes, END], strict=True):
        if after != END:
            builder.add_node(after, nodes[after])
        builder.add_edge(before, after)
    return builder.compile()


def test_all_nodes_run_in_a_foreign_state(schema, invoke):
    memories = InMemoryMemories()
    asyncio.run(memories.save("ann", [MemoryRecord(text="Ann keeps two African Grey parrots")]))
    log = InMemoryConversationLog()
    call = {"name": "look_up", "args": {"place": "zoo"}, "id": "c1"}
    model = ScriptedChatModel(responses=[AIMessage("", tool_calls=[call]), AIMessage("The zoo is open.")])
    keys = {"messages_key": "chat"}
    nodes = {
        "save_input": make_save_input(**keys, memories_key="known"),
        "memory_gate": make_memory_gate(**keys),
        "retrieve_memories": make_retrieve_memories(memories=memories, **keys, memories_key="known"),
        "assistant": make_assistant(model, tools=[look_up], **keys, memories_key="known"),
        "tools": make_tools([look_up], **keys),
        "answer": make_assistant(model, tools=[look_up], **keys, memories_key="known"),
        "persist_filtered": make_persist_filtered(log=log, **keys, memories_key="known"),
    }
    state = invoke(graph_of(schema, nodes), {"chat": [HumanMessage("Which parrots do I keep?")], "topic": "birds"})
    assert [m.type for m in state["chat"]] == ["human", "ai", "tool", "ai"]
    assert state["chat"][-1].text == "The zoo is open."
    assert (state["known"], state["topic"]) == ([], "birds")
    assert "two African Grey parrots" in model.prompts[0][0].text
    assert "ann@example.com" in model.prompts[1][-1].text
    assert [(turn.user_id, turn.input_text) for turn in log.turns] == [("ann", "Which parrots do I keep?")]


async def test_a_node_is_called_by_hand_too():
    async def who(state):
        return {"said": f"{read(state, 'text')} {describe_run().user_id}"}

    node = Node("who", who)
    config = {"configurable": {"user_id": "ann"}}
    assert await node({"text": "hi"}) == {"said": "hi None"}
    assert await node.ainvoke({"text": "hi"}, config) == {"said": "hi ann"}
    assert await asyncio.to_thread(node.invoke, {"text": "hi"}, config) == {"said": "hi ann"}


def test_a_node_has_its_name_in_the_graph():
    builder = StateGraph(TypedState)
    builder.add_node(make_memory_gate(messages_key="chat"))
    assert list(builder.nodes) == ["memory_gate"]
