"""What is compared: an agent of LangChain's `create_agent` as it was, with our saver, with our saver and memory, and the template."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph.state import CompiledStateGraph
from turning.talk import USER, InstantModel, facts, look_up_tool

from discreet.checkpoint import RedactingSaver
from discreet.graph import build_graph
from discreet.graph.middleware import MemoryMiddleware
from discreet.providers.summaries import ExtractiveSummaryProvider
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage

STOCK, SAVER, MEMORY, TEMPLATE = "stock", "saver", "saver + memory", "template"
SIDES = (STOCK, SAVER, MEMORY, TEMPLATE)
Graph = CompiledStateGraph[Any, Any, Any, Any]


@asynccontextmanager
async def open_side(
    side: str, dsn: str, embeddings: Any, *, chat_model: BaseChatModel | None = None, tools: Sequence[BaseTool] = ()
) -> AsyncIterator[Graph]:
    """Yield the graph of `side` over the database at `dsn`, which gets its tables and facts unless it has them."""
    model, tools = chat_model or InstantModel(), tools or [look_up_tool(seed=1)]
    async with AsyncExitStack() as stack:
        if side == STOCK:
            stocks = await stack.enter_async_context(AsyncPostgresSaver.from_conn_string(dsn))
            await stocks.setup()
            yield create_agent(model, tools, checkpointer=stocks)
            return
        saver = await stack.enter_async_context(RedactingSaver.from_conn_string(dsn))
        await saver.setup()
        if side == SAVER:
            yield create_agent(model, tools, checkpointer=saver)
            return
        storage = await stack.enter_async_context(open_storage(dsn, embeddings=embeddings))
        if not await storage.memories.latest(USER, limit=1):
            await storage.memories.save(USER, [MemoryRecord(text=text) for text in facts()])
        if side == MEMORY:
            memory = MemoryMiddleware(memories=storage.memories, log=storage.log)
            yield create_agent(model, tools, checkpointer=saver, middleware=[memory])
            return
        yield build_graph(
            chat_model=model,
            memories=storage.memories,
            log=storage.log,
            short_term=storage.short_term,
            summaries=storage.summaries,
            summary_provider=ExtractiveSummaryProvider(),
            tools=tools,
        ).compile(checkpointer=saver)
