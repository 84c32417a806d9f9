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
    builder = build_graph(storage, chat_model=chat_model, tools=tools, settings=settings)
    saver = RedactingSaver.from_storage(storage)
    await saver.setup()
    return builder.compile(checkpointer=saver)
