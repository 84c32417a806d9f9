"""The template, compiled over an open storage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.tools import BaseTool
from langgraph.graph.state import CompiledStateGraph

from discreet.checkpoint import RedactingSaver
from discreet.graph.memory_agent import build_graph
from discreet.settings import Settings
from discreet.state.context import Context
from discreet.storage import Storage


async def compiled_graph(
    storage: Storage, *, settings: Settings | None = None, chat_model: str | None = None, tools: Sequence[BaseTool] = ()
) -> CompiledStateGraph[Any, Context, Any, Any]:
    """Return the template over `storage`, with its checkpointer.

    Raises:
        ConfigurationError: The model's name is unknown.
    """
    builder = build_graph(
        chat_model=chat_model,
        memories=storage.memories,
        log=storage.log,
        short_term=storage.short_term,
        summaries=storage.summaries,
        memory_settings=storage.memory_settings,
        tools=tools,
        settings=settings,
    )
    saver = RedactingSaver.from_pool(storage.pool)
    await saver.setup()
    return builder.compile(checkpointer=saver)
