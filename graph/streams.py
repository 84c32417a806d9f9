"""What `stream` of a graph yields, taken apart and put together in the shape that was asked for."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, cast

from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from discreet.redaction.placeholders import UNFINISHED
from discreet.state.reasoning import SpokenStream

Graph = CompiledStateGraph[Any, Any, Any, Any]

NEEDED: Final = ("values", "tasks")
"""Modes in which a run is watched, whoever looks on."""

LONGEST: Final = 60
"""Characters of a placeholder at most."""


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


class MessagePieces:
    """Messages that are streamed in pieces: without what the model reasons, and with no placeholder in two of them."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str | None, Any], _PiecedText] = {}
        """By message and index of the block."""
        self._last: dict[str | None, Part] = {}

    def feed(self, part: Part) -> Part:
        """Return a piece of a message with what was held back before, and without what is now; any other part as it is."""
        chunk, about = part.data if part.mode == "messages" else (None, None)
        if not isinstance(chunk, AIMessageChunk):
            return part
        self._last[chunk.id] = part
        last = chunk.chunk_position == "last"
        content: Any = chunk.content
        if isinstance(content, str):
            content = self._text((chunk.id, None)).feed(content, last=last)
        else:
            content = [
                {**block, "text": self._text((chunk.id, block.get("index"))).feed(block["text"], last=last)}
                if isinstance(block, dict) and isinstance(block.get("text"), str)
                else block
                for block in content
            ]
        return part._replace(data=(chunk.model_copy(update={"content": content}), about))

    def rest(self) -> list[Part]:
        """Return what is still held back, of messages without an end."""
        texts, self._texts = self._texts, {}
        parts = []
        for (message_id, index), pieces in texts.items():
            if not (text := pieces.feed("", last=True)):
                continue
            part = self._last[message_id]
            content: Any = text if index is None else [{"type": "text", "text": text, "index": index}]
            parts.append(part._replace(data=(AIMessageChunk(content=content, id=message_id), part.data[1])))
        return parts

    def _text(self, key: tuple[str | None, Any]) -> _PiecedText:
        return self._texts.setdefault(key, _PiecedText())


class _PiecedText:
    """One text that comes in pieces."""

    def __init__(self) -> None:
        self._spoken = SpokenStream()
        self._held = ""
        """What may be the beginning of a placeholder."""

    def feed(self, piece: str, *, last: bool) -> str:
        """Return what of the text up to here was not returned yet, and may be."""
        text = self._held + self._spoken.feed(piece) + (self._spoken.close() if last else "")
        begun = None if last else UNFINISHED.search(text, max(0, len(text) - LONGEST))
        cut = len(text) if begun is None else begun.start()
        self._held = text[cut:]
        return text[:cut]
