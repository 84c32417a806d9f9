"""Graphs as Aegra runs them: under guard, one run of a thread at a time, over our checkpointer or not at all."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

from fastapi import HTTPException
from langgraph.errors import InvalidUpdateError

from discreet.api.aegra.database import persistence
from discreet.checkpoint import RedactingSaver
from discreet.errors import ConfigurationError
from discreet.graph.guard import GuardedGraph
from discreet.graph.once import TASK, attributes_of

NOT_OURS: Final = (
    "The server would run this graph over another checkpointer, which would store what people say. Name "
    "discreet.api.aegra.server:app as http.app in aegra.json."
)

NO_UPDATE: Final = (
    "The thread's state can't be changed so. as_node has to be a node of its graph, and the values what that node may "
    "return."
)


def served(graph: GuardedGraph) -> ServedGraph:
    """Return `graph` for `graphs` of aegra.json."""
    return ServedGraph(**attributes_of(graph))


class ServedGraph(GuardedGraph):
    """A guarded graph whose runs wait for each other, by thread. `copy` and what is made by it do so too."""

    async def astream(self, input: Any, config: Any = None, **options: Any) -> AsyncGenerator[Any]:
        """Do what a guarded graph does, when it is this run's turn in its thread.

        Raises:
            ConfigurationError: The checkpointer is none of ours.
        """
        configurable = (config or {}).get("configurable") or {}
        source = super().astream(input, config, **options)
        del input, config, options  # a traceback shows the variables of this frame
        if TASK in configurable:  # a node of another graph, which has the turn
            async with aclosing(source) as events:
                async for event in events:
                    yield event
            return
        if not isinstance(self.checkpointer, RedactingSaver):
            await source.aclose()
            raise ConfigurationError(NOT_OURS)
        turn = persistence().turns().turn(str(configurable["thread_id"]), configurable.get("run_id"))
        async with turn, aclosing(source) as events:
            async for event in events:
                yield event

    async def aupdate_state(
        self, config: Any, values: Any, as_node: str | None = None, task_id: str | None = None
    ) -> Any:
        """Do what a guarded graph does.

        Raises:
            HTTPException: 422, LangGraph can't take the values so. Of any other error Aegra makes a 500.
        """
        try:
            return await super().aupdate_state(config, values, as_node, task_id)
        except InvalidUpdateError:  # not chained: it may hold the values
            raise HTTPException(422, NO_UPDATE) from None
