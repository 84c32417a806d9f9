"""The template over one storage, as it is deployed.

Gate, retrieval, vault, redaction, conversation log, session, rolling summary (made without a model) and checkpointer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.graph.state import CompiledStateGraph
from turning.talk import USER, facts, instant_model, look_up_tool

from discreet.checkpoint import RedactingSaver
from discreet.graph import build_graph
from discreet.providers.summaries import ExtractiveSummaryProvider
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage


@asynccontextmanager
async def our_graph(
    dsn: str, embeddings: Any, *, chat_model: BaseChatModel | None = None, tools: Sequence[BaseTool] = ()
) -> AsyncIterator[CompiledStateGraph[Any, Any, Any, Any]]:
    """Yield the graph over a new database with the facts in its memory; by default with the model and the tool of the talk."""
    async with open_storage(dsn, embeddings=embeddings) as storage:
        saver = RedactingSaver.from_pool(storage.pool)
        await saver.setup()
        await storage.memories.save(USER, [MemoryRecord(text=text) for text in facts()])
        builder = build_graph(
            chat_model=chat_model or instant_model(),
            memories=storage.memories,
            log=storage.log,
            short_term=storage.short_term,
            summaries=storage.summaries,
            summary_provider=ExtractiveSummaryProvider(),
            tools=tools or [look_up_tool(seed=1)],
        )
        yield builder.compile(checkpointer=saver)
