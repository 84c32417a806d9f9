"""Redact the events of a run: what `stream` and `astream` yield, and callbacks tell, whatever the modes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from langchain_core.messages import BaseMessage, BaseMessageChunk

from discreet.graph.guard.objects import RunObjects
from discreet.graph.guard.pieces import Pieces, WrittenBlocks, WrittenMessage, WrittenOutput, WrittenText
from discreet.graph.streams import Part

Event = dict[str, Any]


class Events(Protocol):
    """Redacts the events of one run, in the order in which they come."""

    def redact(self, event: Any) -> list[Any]:
        """Return what is yielded for `event`: nothing while it is held back, more than one when something ends."""
        ...

    def rest(self) -> list[Any]:
        """Return what was held back of what never ended."""
        ...


class StreamEvents:
    """Redacts what `stream` yields."""

    def __init__(self, objects: RunObjects) -> None:
        self._objects = objects
        self._pieces = Pieces(objects, _put)
        self._metas: dict[int, tuple[Any, Any]] = {}

    def __repr__(self) -> str:
        return "StreamEvents()"

    def redact(self, event: Part) -> list[Part]:
        """See `Events.redact`."""
        data = event.data
        if event.mode == "messages" and isinstance(data, tuple) and len(data) == 2:  # a message and its metadata
            return self._message(*data, event)
        if event.mode == "custom" and isinstance(data, BaseMessageChunk):
            return self._pieces.feed(("custom", data.id), WrittenMessage, data, event)
        if event.mode == "tools" and isinstance(data, Mapping):
            return self._pieces.feed(("tool", str(data.get("tool_call_id"))), WrittenOutput, data, event)
        return [event._replace(data=self._payload(event.mode, data), interrupts=self._objects.redact(event.interrupts))]

    def rest(self) -> list[Part]:
        """See `Events.rest`."""
        return self._pieces.rest()

    def _payload(self, mode: str, data: Any) -> Any:
        if mode == "updates" and isinstance(data, Mapping):
            return {node: self._objects.redact(update) for node, update in data.items()}
        return self._objects.engine(data) if mode in ("debug", "checkpoints", "tasks") else self._objects.redact(data)

    def _message(self, message: Any, meta: Any, event: Part) -> list[Part]:
        known = self._metas.get(id(meta))  # of one run it is one and the same object
        if known is None or known[0] is not meta:
            known = self._metas[id(meta)] = (meta, self._objects.engine(meta, "metadata"))
        event = event._replace(data=(None, known[1]))
        if isinstance(message, BaseMessage):
            return self._pieces.feed(message.id, WrittenMessage, message, event)
        if isinstance(message, Mapping) and isinstance(message.get("event"), str):
            run = meta.get("run_id") if isinstance(meta, Mapping) else None
            return self._pieces.feed(("blocks", run), WrittenBlocks, message, event)
        return [_put(event, self._objects.redact(message))]


class CallbackEvents:
    """Redacts the events of `astream_events`, versions 1 and 2. What the graph itself yields has passed its own guard; all else comes raw."""

    def __init__(self, objects: RunObjects) -> None:
        self._objects = objects
        self._pieces = Pieces(objects, lambda event, chunk: {**event, "data": {"chunk": chunk}})
        self._root: str | None = None

    def __repr__(self) -> str:
        return "CallbackEvents()"

    def redact(self, event: Event) -> list[Event]:
        """See `Events.redact`."""
        run, kind, data = event["run_id"], event["event"], event.get("data") or {}
        self._root = self._root or run
        metadata = self._objects.engine(event.get("metadata") or {}, "metadata")
        shown = {**event, "metadata": metadata, "tags": self._objects.redact(event.get("tags"))}
        if not kind.endswith("_stream"):
            ended = self._pieces.end(run) if kind.endswith(("_end", "_error")) else []
            return [*ended, {**shown, "data": self._objects.redact(data)}]
        chunk = data.get("chunk")
        if run == self._root:
            return [{**shown, "data": data}]
        if isinstance(chunk, (str, BaseMessage)):
            return self._pieces.feed(run, WrittenText if isinstance(chunk, str) else WrittenMessage, chunk, shown)
        # A value may go across pieces; what they make together comes when the run ends.
        return [] if _has_pieces(chunk) else [{**shown, "data": {"chunk": self._objects.redact(chunk)}}]

    def rest(self) -> list[Event]:
        """See `Events.rest`."""
        return self._pieces.rest()


def _put(event: Part, shown: Any) -> Part:
    """Return an event with what is shown of its payload; that of a message has its metadata."""
    return event._replace(data=(shown, event.data[1]) if event.mode == "messages" else shown)


def _has_pieces(chunk: Any) -> bool:
    """Whether a chunk is made of pieces of something."""
    if isinstance(chunk, Mapping):
        adds_up = hasattr(type(chunk), "__add__")
        return adds_up or any(isinstance(each, BaseMessageChunk) for each in chunk.values())
    if isinstance(chunk, (list, tuple)):
        return any(isinstance(each, BaseMessageChunk) or _has_pieces(each) for each in chunk)
    return chunk is not None and hasattr(type(chunk), "__add__") and not isinstance(chunk, (int, float))
