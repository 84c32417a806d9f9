"""What `stream` of a graph yields, taken apart and put together in the shape that was asked for."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, cast

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

Graph = CompiledStateGraph[Any, Any, Any, Any]

NEEDED: Final = ("values", "tasks")
"""Modes in which a run is watched, whoever looks on."""


class Part(NamedTuple):
    """One event of a run."""

    place: tuple[str, ...]
    """Namespace; empty for the graph itself, not a subgraph of it."""
    mode: str
    data: Any
    interrupts: tuple[Any, ...] = ()
    """In version 2, of values."""


@dataclass(frozen=True)
class Shape:
    """How a caller wants the events of a run."""

    mode: str | Sequence[str]
    subgraphs: bool = False
    version: Literal["v1", "v2"] = "v1"

    @property
    def modes(self) -> list[str]:
        """The modes that are asked for."""
        return [self.mode] if isinstance(self.mode, str) else list(self.mode)

    def shaped(self, part: Part) -> Any:
        """Return a part as LangGraph yields it."""
        if self.version == "v2":
            told = {"type": part.mode, "ns": part.place, "data": part.data}
            return {**told, "interrupts": part.interrupts} if part.mode == "values" else told
        place = (part.place,) if self.subgraphs else ()
        mode = () if isinstance(self.mode, str) else (part.mode,)
        return (*place, *mode, part.data) if place or mode else part.data

    async def parts(
        self, graph: Graph, given: Any, config: RunnableConfig | None, context: Any, options: Mapping[str, Any]
    ) -> AsyncGenerator[Part]:
        """Run `graph`; yield the parts that are asked for, and those in `NEEDED`."""
        stream: Any = cast("Any", graph).astream(  # its overloads know no version that is not written here
            given,
            config,
            context=context,
            stream_mode=list(dict.fromkeys([*self.modes, *NEEDED])),
            subgraphs=self.subgraphs,
            version=self.version,
            **options,
        )
        async with aclosing(stream) as events:
            async for event in events:
                yield self._opened(event)

    def _opened(self, event: Any) -> Part:
        if self.version == "v2":
            return Part(event["ns"], event["type"], event["data"], event.get("interrupts", ()))
        return Part(*event) if self.subgraphs else Part((), *event)


def reply_parts(
    messages: Sequence[BaseMessage],
    reply: BaseMessage,
    shape: Shape,
    *,
    node: str,
    messages_key: str,
    values: Mapping[str, Any] | None = None,
) -> list[Part]:
    """Return the parts that are asked for of a run that gives `reply` at once, as from a node of that name.

    `values` is the state after it. Default: `messages` and the reply.
    """
    parts = [
        Part((), "messages", (reply, {"langgraph_node": node})),
        Part((), "updates", {node: {messages_key: [reply]}}),
        Part((), "values", {messages_key: [*messages, reply]} if values is None else dict(values)),
    ]
    return [part for part in parts if part.mode in shape.modes]
