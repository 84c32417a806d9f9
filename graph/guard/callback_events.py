"""Redact the events of `astream_events`, versions 1 and 2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage, BaseMessageChunk

from discreet.graph.guard.chunks import MessageChunks
from discreet.graph.guard.events import PLACES
from discreet.graph.guard.objects import RunObjects
from discreet.graph.guard.texts import TextStream

Event = dict[str, Any]


class CallbackEvents:
    """Redacts the events of one run. What the graph itself yields has passed its own guard; all else comes raw."""

    def __init__(self, objects: RunObjects) -> None:
        self._objects = objects
        self._chunks = MessageChunks(objects)
        self._texts: dict[str, TextStream] = {}
        self._streams: dict[str, Event] = {}
        """Of each run that streams, its last event without the piece."""
        self._root: str | None = None

    def __repr__(self) -> str:
        return "CallbackEvents()"

    def redact(self, event: Event) -> list[Event]:
        """Return what is yielded for `event`."""
        run = event["run_id"]
        if self._root is None:
            self._root = run
        data = event.get("data") or {}
        shown = {**event, "data": None, "metadata": self._objects.fields(event.get("metadata") or {}, PLACES)}
        shown["tags"] = self._objects.redact(event.get("tags"))
        if event["event"].endswith("_stream"):
            if run == self._root:
                return [{**shown, "data": data}]
            return self._pieces(run, shown, data.get("chunk"))
        ends = event["event"].endswith(("_end", "_error"))
        return [*(self._rest_of(run) if ends else ()), {**shown, "data": self._objects.redact(data)}]

    def rest(self) -> list[Event]:
        """Return what was held back of what never ended."""
        return [each for run in list(self._streams) for each in self._rest_of(run)]

    def _pieces(self, run: str, shown: Event, chunk: Any) -> list[Event]:
        self._streams[run] = shown
        if isinstance(chunk, BaseMessage):
            pieces: list[Any] = list(self._chunks.feed(run, chunk))
        elif isinstance(chunk, str):
            text = self._texts.setdefault(run, self._objects.texts.stream(spoken=True)).feed(chunk)
            pieces = [text] if text else []
        elif _has_pieces(chunk):
            pieces = []  # a value may go across them; what they make together comes when the run ends
        else:
            pieces = [self._objects.redact(chunk)]
        return [{**shown, "data": {"chunk": piece}} for piece in pieces]

    def _rest_of(self, run: str) -> list[Event]:
        shown = self._streams.pop(run, None)
        if shown is None:
            return []
        pieces: list[Any] = list(self._chunks.end(run))
        text = self._texts.pop(run).close() if run in self._texts else ""
        return [{**shown, "data": {"chunk": piece}} for piece in [*pieces, *([text] if text else [])]]


def _has_pieces(chunk: Any) -> bool:
    """Whether a chunk is made of pieces of something."""
    if isinstance(chunk, Mapping):
        adds_up = hasattr(type(chunk), "__add__")
        return adds_up or any(isinstance(each, BaseMessageChunk) for each in chunk.values())
    if isinstance(chunk, (list, tuple)):
        return any(isinstance(each, BaseMessageChunk) or _has_pieces(each) for each in chunk)
    return chunk is not None and hasattr(type(chunk), "__add__") and not isinstance(chunk, (int, float))
