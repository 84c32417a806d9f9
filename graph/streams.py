"""What `stream` of a graph yields, taken apart and put together in the shape that was asked for."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from discreet.background_loop import wait_for
from discreet.state.message_text import spoken_text

if TYPE_CHECKING:
    from uuid import UUID

Graph = CompiledStateGraph[Any, Any, Any, Any]

DELIVERY: Final = "delivery"
"""Key in `response_metadata` of an answer that no run of its own gave; its value is `repeated` or `still_working`. Streams name
it as the node that such an answer comes from."""

END: Final = object()


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
    version: str = "v1"

    @classmethod
    def of(cls, options: Mapping[str, Any], mode: str | Sequence[str]) -> Shape:
        """Return what the options of a call to `stream` ask for; `mode` where they name none."""
        return cls(options.get("stream_mode") or mode, bool(options.get("subgraphs")), options.get("version") or "v1")

    @property
    def modes(self) -> list[str]:
        """The modes that are asked for."""
        return [self.mode] if isinstance(self.mode, str) else list(self.mode)

    def shaped(self, part: Part) -> Any:
        """Return a part as LangGraph yields it."""
        if self.version == "v2":
            event = {"type": part.mode, "ns": part.place, "data": part.data}
            return {**event, "interrupts": part.interrupts} if part.mode == "values" else event
        place = (part.place,) if self.subgraphs else ()
        mode = (part.mode,) if isinstance(self.mode, list) else ()  # of a tuple LangGraph names none
        return (*place, *mode, part.data) if place or mode else part.data

    async def parts(
        self,
        astream: Callable[..., Any],
        given: Any,
        config: RunnableConfig | None,
        options: Mapping[str, Any],
        *,
        needed: Sequence[str] = (),
    ) -> AsyncGenerator[Part]:
        """Run a graph by its `astream`; yield the parts of the modes that are asked for, and of those that are `needed`."""
        modes = list(dict.fromkeys([*self.modes, *needed]))
        async with aclosing(astream(given, config, **{**options, "stream_mode": modes})) as events:
            async for event in events:
                if self.version == "v2":
                    yield Part(event["ns"], event["type"], event["data"], event.get("interrupts", ()))
                else:
                    yield Part(*event) if self.subgraphs else Part((), *event)


def replied(values: Mapping[str, Any], shape: Shape, *, key: str, interrupts: Sequence[Any] = ()) -> list[Part]:
    """Return the parts that are asked for of a run that ends at once with `values`, whose last message is its answer, or with `interrupts`."""
    if interrupts:
        asked = {"__interrupt__": tuple(interrupts)}
        shown = {**values, **asked} if shape.version == "v1" else dict(values)
        parts = [Part((), "values", shown, tuple(interrupts)), Part((), "updates", asked)]
    else:
        reply = values[key][-1]
        parts = [
            Part((), "messages", (reply, {"langgraph_node": DELIVERY})),
            Part((), "updates", {DELIVERY: {key: [reply]}}),
            Part((), "values", dict(values)),
        ]
    return [part for part in parts if part.mode in shape.modes]


def messages_in(values: Any, key: str) -> list[BaseMessage]:
    """Return the messages of a state, whatever its schema."""
    found = values.get(key) if isinstance(values, Mapping) else getattr(values, key, None)
    return [each for each in found if isinstance(each, BaseMessage)] if isinstance(found, list) else []


def blocking(events: AsyncGenerator[Any]) -> Generator[Any]:
    """Yield the events of an asynchronous stream to code without an event loop."""

    async def following() -> Any:
        return await anext(events, END)

    try:
        while (event := wait_for(following())) is not END:
            yield event
    finally:
        wait_for(events.aclose())


def piece_of(event: Any) -> str:
    """Return the piece of the template's answer that an event of the mode `messages` brings; empty if it is of something else."""
    message, about = event
    if isinstance(message, AIMessageChunk) and about.get("langgraph_node") == "assistant":
        return str(message.text)
    return ""


def answer_of(updates: Mapping[str, Any]) -> str:
    """Return the answer of the template that an event of the mode `updates` brings; empty if it brings none."""
    for node in ("assistant", "persist_filtered"):
        said = messages_in(updates.get(node), "messages")
        if said and isinstance(said[-1], AIMessage) and not said[-1].tool_calls:
            return spoken_text(said[-1])
    return ""


class PromptWatch(AsyncCallbackHandler):
    """Tells what the chat model of the template is asked, with the real values; what small models are asked beside it is none of this.

    Example:
        >>> prompts = []
        >>> config = {"callbacks": [PromptWatch(prompts.append)]}
    """

    def __init__(self, tell: Callable[[Sequence[BaseMessage]], object]) -> None:
        """Call `tell` with the messages of each prompt."""
        self._tell = tell

    async def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Take the messages of one call."""
        if (metadata or {}).get("langgraph_node") == "assistant":
            self._tell(messages[0])
