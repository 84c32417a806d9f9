"""Run a stock graph on one thread of a stock saver, whether that is asynchronous or not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.shallow import ShallowPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.pregel import Pregel
from langgraph.types import Durability, StateSnapshot

from testkit.planting.manifest import Book

SYNCHRONOUS = (PostgresSaver, ShallowPostgresSaver, SqliteSaver)
"""Savers without asynchronous methods."""


class Session:
    """One thread of a graph. `book` is where scenarios write down what they plant; there is none for going on."""

    def __init__(
        self,
        graph: Pregel[Any, Any, Any, Any],
        saver: BaseCheckpointSaver[Any],
        thread_id: str,
        *,
        book: Book | None = None,
        durability: Durability = "async",
    ) -> None:
        self.graph = graph.copy({"checkpointer": saver})
        self.thread_id = thread_id
        self.config: RunnableConfig = {"configurable": {"thread_id": thread_id}}
        self._book = book
        self._durability = durability
        self._is_async = not isinstance(saver, SYNCHRONOUS)

    @property
    def book(self) -> Book:
        """Return the book of a thread that is being planted."""
        assert self._book is not None
        return self._book

    async def run(self, given: Any, **options: Any) -> Any:
        """Run the graph on `given` until it ends, pauses or fails."""
        config = self.config | options.pop("config", {})
        options.setdefault("durability", self._durability)
        if self._is_async:
            return await self.graph.ainvoke(given, config, **options)
        return await asyncio.to_thread(lambda: self.graph.invoke(given, config, **options))

    async def state(self) -> StateSnapshot:
        """Return the latest state."""
        latest: StateSnapshot = await self._call(self.graph.get_state, self.graph.aget_state, self.config)
        return latest

    async def history(self) -> list[StateSnapshot]:
        """Return all states, newest first."""
        if self._is_async:
            return [state async for state in self.graph.aget_state_history(self.config)]
        return await asyncio.to_thread(lambda: list(self.graph.get_state_history(self.config)))

    async def update(self, values: Any, *, config: RunnableConfig | None = None, as_node: str | None = None) -> Any:
        """Change the state by hand."""
        return await self._call(
            self.graph.update_state, self.graph.aupdate_state, config or self.config, values, as_node=as_node
        )

    async def _call(self, plain: Callable[..., Any], asynchronous: Callable[..., Any], *args: Any, **named: Any) -> Any:
        if self._is_async:
            return await asynchronous(*args, **named)
        return await asyncio.to_thread(plain, *args, **named)
