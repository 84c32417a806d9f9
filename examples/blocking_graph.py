"""Nodes in a graph without an event loop, with a state of its own: `graph.invoke`, plain functions, other key names."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

from discreet.background_loop import wait_for
from discreet.nodes.memory_gate import make_memory_gate
from discreet.nodes.persist_filtered import make_persist_filtered
from discreet.nodes.retrieve_memories import make_retrieve_memories
from discreet.state.records import MemoryRecord
from discreet.storage import Storage, open_storage_sync


class Support(TypedDict):
    """The state of somebody's own graph."""

    chat: Annotated[list[AnyMessage], add_messages]
    known: list[Any]
    gate: Any
    ticket: str


def answer(state: Support) -> dict[str, Any]:
    """Answer, blocking, as their own code does."""
    return {"chat": [AIMessage(f"{state['ticket']}: I know {[memory['text'] for memory in state['known']]}")]}


def build(storage: Storage) -> StateGraph[Any, Any, Any, Any]:
    """Return the graph."""
    builder = StateGraph(Support)
    builder.add_node("memory_gate", make_memory_gate(messages_key="chat"))
    builder.add_node(
        "retrieve_memories",
        make_retrieve_memories(memories=storage.memories, messages_key="chat", memories_key="known"),
    )
    builder.add_node("answer", answer)
    builder.add_node("persist_filtered", make_persist_filtered(log=storage.log, messages_key="chat"))
    builder.add_edge(START, "memory_gate")
    builder.add_conditional_edges(
        "memory_gate", lambda state: "retrieve_memories" if state["gate"]["retrieve"] else "answer"
    )
    builder.add_edge("retrieve_memories", "answer")
    builder.add_edge("answer", "persist_filtered")
    builder.add_edge("persist_filtered", END)
    return builder


def main() -> str:
    """Ask for what is known."""
    with open_storage_sync() as storage:
        wait_for(storage.memories.save("ann", [MemoryRecord(text="Ann keeps two African Grey parrots")]))
        config: Any = {"configurable": {"thread_id": "1", "user_id": "ann"}}
        given = {"chat": [("user", "Which birds do I keep?")], "known": [], "ticket": "T-1"}
        state = build(storage).compile().invoke(given, config)
        print(state["chat"][-1].text)
        return str(state["chat"][-1].text)


if __name__ == "__main__":
    main()
