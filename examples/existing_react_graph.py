"""A ReAct graph that was there before, and the ten lines that give it memory.

`python examples/existing_react_graph.py` runs it with the embedded database and the offline model; put a model of your own
into `main`.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, TypedDict

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode, tools_condition

from discreet.nodes.persist_filtered import make_persist_filtered
from discreet.nodes.prompting import Prompting
from discreet.nodes.retrieve_memories import make_retrieve_memories
from discreet.nodes.tools import MemorySave
from discreet.providers import chat_model
from discreet.storage import Storage, open_storage

INSTRUCTIONS = "You are a helpful assistant. Save what the user tells you about themselves."


@tool
def opening_hours(place: str) -> str:
    """Say when a place is open."""
    return f"{place} is open from 9 to 17."


def without_memory(model: BaseChatModel) -> StateGraph[Any, Any, Any, Any]:
    """Return the graph as it was."""

    class State(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]

    tools = [opening_hours]

    async def agent(state: State) -> dict[str, Any]:
        system = INSTRUCTIONS
        return {"messages": [await model.bind_tools(tools).ainvoke([SystemMessage(system), *state["messages"]])]}

    builder = StateGraph(State)
    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode(tools))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition, {"tools": "tools", END: END})
    builder.add_edge("tools", "agent")
    return builder


def with_memory(model: BaseChatModel, storage: Storage) -> StateGraph[Any, Any, Any, Any]:
    """Return the graph with memory."""

    class State(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]
        memories: list[Any]

    tools = [opening_hours, MemorySave(memories=storage.memories)]

    async def agent(state: State) -> dict[str, Any]:
        system = INSTRUCTIONS
        prompt, _ = await Prompting().prompt(state["messages"], state["memories"], model=model, instructions=system)
        return {"messages": [await model.bind_tools(tools).ainvoke(prompt.messages)]}

    builder = StateGraph(State)
    builder.add_node("retrieve_memories", make_retrieve_memories(memories=storage.memories))
    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode(tools))
    builder.add_node("persist_filtered", make_persist_filtered(log=storage.log))
    builder.add_edge(START, "retrieve_memories")
    builder.add_edge("retrieve_memories", "agent")
    builder.add_conditional_edges("agent", tools_condition, {"tools": "tools", END: "persist_filtered"})
    builder.add_edge("tools", "agent")
    return builder


async def main() -> str:
    """Tell it something in one conversation, ask for it in another."""
    async with open_storage() as storage:
        graph = with_memory(chat_model("offline"), storage).compile()
        answer = ""
        for thread, text in (("1", "I keep two African Grey parrots."), ("2", "Which birds do I keep?")):
            config: Any = {"configurable": {"thread_id": thread, "user_id": "ann"}}
            state = await graph.ainvoke({"messages": [("user", text)]}, config)
            answer = str(state["messages"][-1].text)
            print(f"{text}\n  {answer}")
        return answer


if __name__ == "__main__":
    asyncio.run(main())
