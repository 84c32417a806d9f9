"""Projects for `langgraph dev`: the template's own, the same graph without any layer over stock classes, and one without us."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

STOCK = """
from contextlib import asynccontextmanager

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from discreet.graph import build_graph
from discreet.storage.shared import process_storage as storage

graph = build_graph(
    memories=storage.memories, log=storage.log, short_term=storage.short_term, summaries=storage.summaries
).compile(name="stock")


@asynccontextmanager
async def checkpointer():
    async with storage.lease() as opened, AsyncPostgresSaver.from_conn_string(opened.dsn) as saver:
        await saver.setup()
        yield saver
"""

BARE = """
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph


def answer(state: MessagesState) -> dict[str, list[AIMessage]]:
    return {"messages": [AIMessage("Hello!")]}


builder = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer").add_edge("answer", END)
graph = builder.compile(name="bare")
"""


def ours(folder: Path) -> Path:
    """Write the template's project; return its folder."""
    (folder / "graph").mkdir(parents=True)
    shutil.copy(ROOT / "langgraph.json", folder)
    shutil.copy(ROOT / "graph" / "server.py", folder / "graph")
    return folder


def stock(folder: Path) -> Path:
    """Write the project without layers; return its folder."""
    folder.mkdir(parents=True)
    (folder / "wiring.py").write_text(STOCK)
    config = {
        "dependencies": ["."],
        "graphs": {"agent": {"path": "./wiring.py:graph"}},
        "checkpointer": {"path": "./wiring.py:checkpointer"},
    }
    (folder / "langgraph.json").write_text(json.dumps(config))
    return folder


def bare(folder: Path) -> Path:
    """Write a project with a graph of one node and the server's own storage; return its folder."""
    folder.mkdir(parents=True)
    (folder / "wiring.py").write_text(BARE)
    config = {"dependencies": ["."], "graphs": {"agent": {"path": "./wiring.py:graph"}}}
    (folder / "langgraph.json").write_text(json.dumps(config))
    return folder
