"""Redact the content-block events of the event protocol (`version="v3"`)."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from typing import Any, Final

from discreet.graph.guard.chunks import redacted_json
from discreet.graph.guard.objects import RunObjects, without_sealed
from discreet.graph.guard.texts import TextStream
from discreet.nodes.state_messages import KEPT_METADATA

Event = dict[str, Any]

EMPTY: Final[Mapping[str, dict[str, Any]]] = {
    "text": {"text": ""},
    "reasoning": {"reasoning": ""},
    "tool_call_chunk": {"args": ""},
    "server_tool_call_chunk": {"args": ""},
    "tool_call": {"args": {}},
    "server_tool_call": {"args": {}},
    "non_standard": {"value": {}},
}
"""What a block of each type begins with."""


class BlockEvents:
    """The messages of one run that are being written as blocks. Of a block that is no text, the whole comes at its end."""

    def __init__(self, objects: RunObjects) -> None:
        self._objects = objects
        self._texts: dict[tuple[Hashable, Any], TextStream] = {}
        self._shown: dict[tuple[Hashable, Any], list[str]] = {}
        self._calls: set[tuple[Hashable, Any]] = set()
        """Calls of tools whose arguments came in pieces."""

    def __repr__(self) -> str:
        return f"BlockEvents({len(self._texts)} open)"

    def feed(self, key: Hashable, event: Mapping[str, Any]) -> list[Event]:
        """Return what may be shown for `event` of the message that is known by `key`."""
        kind = event.get("event")
        if kind == "message-start":
            return [self._start(event)]
        if kind == "content-block-start":
            return self._block_start(key, event)
        if kind == "content-block-delta":
            return self._delta(key, event)
        if kind == "content-block-finish":
            return self._block_finish(key, event)
        rest = self.end(key)
        return [*rest, self._finish(event) if kind == "message-finish" else self._objects.redact(dict(event))]

    def end(self, key: Hashable) -> list[Event]:
        """Return the rest of the texts of the message that is known by `key`."""
        indices = [index for message, index in self._texts if message == key]
        return [event for index in indices for event in self._rest(key, index)]

    def open(self) -> list[Hashable]:
        """Return what the messages are known by that have not ended."""
        return list(dict.fromkeys(message for message, _ in self._texts))

    def _start(self, event: Mapping[str, Any]) -> Event:
        given = self._objects.fields(event, frozenset({"event", "role", "id"}))
        return {**given, "id": self._objects.texts.identifier(event.get("id"))}

    def _finish(self, event: Mapping[str, Any]) -> Event:
        given = self._objects.fields(without_sealed(dict(event)), frozenset({"event", "usage", "metadata"}))
        kept = {name: item for name, item in (event.get("metadata") or {}).items() if name in KEPT_METADATA}
        return {**given, **({"metadata": self._objects.redact(kept)} if "metadata" in event else {})}

    def _block_start(self, key: Hashable, event: Mapping[str, Any]) -> list[Event]:
        block = event.get("content") or {}
        kind = block.get("type")
        content = {"type": kind, **EMPTY.get(str(kind), {})}
        if "id" in block:
            content["id"] = self._objects.texts.identifier(block["id"])
        if "index" in block:
            content["index"] = block["index"]
        if "name" in block:
            content["name"] = self._objects.redact(block["name"])
        index = event.get("index")
        first = {"event": "content-block-start", "index": index, "content": content}
        if kind == "text" and block.get("text"):
            return [first, *self._text(key, index, block["text"])]
        return [first]

    def _delta(self, key: Hashable, event: Mapping[str, Any]) -> list[Event]:
        delta = event.get("delta") or event.get("content") or {}
        if delta.get("type") in ("tool-call-delta", "block-delta"):
            self._calls.add((key, event.get("index")))
        is_text = delta.get("type") in ("text-delta", "text") and isinstance(delta.get("text"), str)
        return self._text(key, event.get("index"), delta["text"]) if is_text else []

    def _text(self, key: Hashable, index: Any, text: str) -> list[Event]:
        if (key, index) not in self._texts:
            self._texts[key, index] = self._objects.texts.stream(spoken=True)
            self._shown[key, index] = []
        return self._shows(key, index, self._texts[key, index].feed(text))

    def _rest(self, key: Hashable, index: Any) -> list[Event]:
        stream = self._texts.pop((key, index), None)
        return self._shows(key, index, stream.close()) if stream else []

    def _shows(self, key: Hashable, index: Any, text: str) -> list[Event]:
        if not text:
            return []
        self._shown[key, index].append(text)
        return [_delta_event(index, {"type": "text-delta", "text": text})]

    def _block_finish(self, key: Hashable, event: Mapping[str, Any]) -> list[Event]:
        index = event.get("index")
        rest = self._rest(key, index)
        block = event.get("content") or {}
        named = self._objects.fields(without_sealed(dict(block)), frozenset({"type", "id", "index"}))
        content = {**named, **({"id": self._objects.texts.identifier(block["id"])} if "id" in block else {})}
        kind = block.get("type")
        if (shown := self._shown.pop((key, index), None)) is not None and kind == "text":
            content["text"] = "".join(shown)
        elif kind == "reasoning" and content.get("reasoning"):
            rest = [_delta_event(index, {"type": "reasoning-delta", "reasoning": content["reasoning"]})]
        elif (key, index) in self._calls and kind in ("tool_call", "server_tool_call"):
            self._calls.discard((key, index))
            written = redacted_json(json.dumps(block.get("args"), default=str), self._objects)
            rest = [_delta_event(index, {"type": "tool-call-delta", "args": written})]
        return [*rest, {"event": "content-block-finish", "index": index, "content": content}]


def _delta_event(index: Any, delta: Mapping[str, Any]) -> Event:
    return {"event": "content-block-delta", "index": index, "delta": dict(delta)}
