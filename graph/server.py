"""Wire the template for `langgraph.json`: the graph, its checkpointer and its store, over one storage.

The server loads this file by path, once for each entry; nothing is defined here that could end up in a checkpoint.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from discreet.checkpoint import RedactingSaver
from discreet.graph import build_graph, drain
from discreet.graph.extraction import build_extraction_graph
from discreet.graph.guard import guarded
from discreet.storage.shared import process_storage
from discreet.storage.store.postgres_store import DiscreetStore

graph = guarded(build_graph(process_storage).compile(name="discreet"))


extract = build_extraction_graph(process_storage).compile(name="extract")


@asynccontextmanager
async def checkpointer() -> AsyncIterator[RedactingSaver]:
    """Yield the checkpointer of the server; at its end, work beside the turns is waited for."""
    async with process_storage.lease() as storage:
        saver = RedactingSaver.from_pool(storage.pool, restore=False)
        await saver.setup()
        try:
            yield saver
        finally:
            await drain()


@asynccontextmanager
async def store() -> AsyncIterator[DiscreetStore]:
    """Yield the store of the server, which deletes what has expired until the server stops."""
    async with process_storage.lease() as storage:
        await storage.store.start_ttl_sweeper()
        yield storage.store
