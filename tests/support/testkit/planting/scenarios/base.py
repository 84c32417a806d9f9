"""What a kind of thread is made of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.pregel import Pregel

from testkit.planting.sessions import Session


async def one_more_message(session: Session) -> None:
    """Go on with another message, as most threads do."""
    await session.run({"messages": [HumanMessage("And then?")]})


@dataclass(frozen=True)
class Scenario:
    """One kind of thread."""

    build: Callable[[], Pregel[Any, Any, Any, Any]]
    """Return the graph, without a checkpointer."""
    plant: Callable[[Session], Awaitable[None]]
    """Do what a user did, with values in every part of it."""
    state: str = "over"
    more: Callable[[Session], Awaitable[None]] = one_more_message
    """Run one more turn."""
    needs_steps: bool = False
    """Whether its values are in what only a run that saves each step keeps."""
    serializer: str | None = None
    """Serializer of the saver, if it needs another than LangGraph's default."""

    @cached_property
    def graph(self) -> Pregel[Any, Any, Any, Any]:
        """The graph, built once: a copy of it is made for each thread."""
        return self.build()
