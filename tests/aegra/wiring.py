"""The graphs of these tests: one that waits, asks and says whose run it is, and those of the leak suite."""

import asyncio
from typing import Annotated, TypedDict

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from leaky import TEMPLATE_MODEL, look_up, make_leaky_graph

from discreet.api.aegra.serving import served
from discreet.graph import build_graph
from discreet.graph.guard import guarded
from discreet.graph.server import extract, graph
from discreet.state.records import MemoryRecord
from discreet.storage.background.proposals import propose
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.shared import process_storage

__all__ = ["agent", "extract", "leaky", "offline", "waiting"]


class State(TypedDict, total=False):
    """What the graph is told."""

    said: str
    seconds: float
    user: str
    answer: str
    permissions: list[str]
    messages: Annotated[list, add_messages]
    length: int


async def wait(state, config):
    """Wait, and say whose run it is."""
    await asyncio.sleep(state.get("seconds", 0))
    configurable = config["configurable"]
    permissions = configurable.get("langgraph_auth_permissions") or []
    heard = [AIMessage(f"I heard: {state['messages'][-1].text}")] if state.get("messages") else []
    length = len(state["messages"][-1].text) if heard else 0
    return {"user": configurable.get("user_id"), "permissions": permissions, "messages": heard, "length": length}


async def propose_it(state, config):
    """Let what was said wait for its user's yes, if it is told to, as a worker does with what it has extracted."""
    if state.get("said", "").startswith("propose"):
        storage = process_storage.current
        user_key = process_storage.background.key_of(config["configurable"]["user_id"])
        async with storage.pool.connection() as connection, connection.cursor() as cursor:
            known = "INSERT INTO discreet.users (user_key) VALUES (%(user_key)s) ON CONFLICT DO NOTHING"
            await cursor.execute(known, {"user_key": user_key})
            await propose(cursor, user_key, [MemoryRecord(text=state["said"])], FieldSealer(None))
    return {}


async def ask(state):
    """Ask before it goes on, if it is told to."""
    if state.get("said", "").startswith("ask"):
        return {"answer": interrupt("go on?")}
    return {}


builder = StateGraph(State)
builder.add_node("wait", wait)
builder.add_node("propose", propose_it)
builder.add_node("ask", ask)
builder.add_edge(START, "wait")
builder.add_edge("wait", "propose")
builder.add_edge("propose", "ask")
builder.add_edge("ask", END)


def guarded_and_served(compiled):
    """Return a graph as docs/open_source_server.md says."""
    return served(guarded(compiled))


waiting = guarded_and_served(builder.compile(name="waiting"))
offline = served(graph)
leaky = guarded_and_served(make_leaky_graph().compile(name="leaky"))
agent = guarded_and_served(
    build_graph(
        chat_model=TEMPLATE_MODEL,
        tools=[look_up],
        memories=process_storage.memories,
        log=process_storage.log,
        short_term=process_storage.short_term,
        summaries=process_storage.summaries,
        memory_settings=process_storage.memory_settings,
        vault=process_storage.vault,
    ).compile(name="agent")
)
