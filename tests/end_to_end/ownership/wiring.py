"""What the langgraph.json of these tests names: the server as it ships, which writes down its routes, and a graph that waits."""

import asyncio
import json
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from starlette.routing import Mount, WebSocketRoute

from discreet.api.server import app
from discreet.state.records import MemoryRecord
from discreet.storage.background.proposals import propose
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.shared import process_storage

own_lifespan = app.router.lifespan_context


def routes_of(routes, prefix=""):
    """Yield method and path of all routes, those of mounted applications too."""
    for route in routes:
        path = prefix + getattr(route, "path", "")
        if inner := getattr(route, "routes", None):
            yield from routes_of(inner, path)
        elif isinstance(route, Mount):
            yield "MOUNT", path
        elif isinstance(route, WebSocketRoute):
            yield "WEBSOCKET", path
        else:
            yield from ((method, path) for method in route.methods - {"HEAD"})


@asynccontextmanager
async def lifespan(app):
    """Write down all routes, also those that the OpenAPI doesn't list."""
    found = sorted(set(routes_of(app.router.routes)))
    await asyncio.to_thread(Path("routes.json").write_text, json.dumps(found), encoding="utf-8")
    async with own_lifespan(app):
        yield


app.router.lifespan_context = lifespan


class State(TypedDict, total=False):
    """What the graphs here are told."""

    said: str
    seconds: float
    user: str


async def wait(state, config):
    """Wait, and say whose run it is."""
    await asyncio.sleep(state.get("seconds", 0))
    return {"user": config["configurable"].get("user_id")}


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
        interrupt("go on?")
    return {}


builder = StateGraph(State)
builder.add_node("wait", wait)
builder.add_node("propose", propose_it)
builder.add_node("ask", ask)
builder.add_edge(START, "wait")
builder.add_edge("wait", "propose")
builder.add_edge("propose", "ask")
builder.add_edge("ask", END)
waiting = builder.compile(name="waiting")
