"""Redact what arrives in pieces: text as it settles, all else when it is whole."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, Final, Protocol

from langchain_core.messages import AIMessageChunk, BaseMessage, BaseMessageChunk
from langchain_core.messages.tool import tool_call_chunk

from discreet.graph.guard.objects import RunObjects, TextStream, without_sealed
from discreet.nodes.state_messages import KEPT_METADATA

HELD: Final = ("tool_call_chunks", "additional_kwargs", "response_metadata", "usage_metadata")
"""What chunks have besides their content."""

WRITTEN: Final = ("text", "reasoning", "args", "value")
"""What of a block of the event protocol comes in pieces; it begins empty."""

Event = dict[str, Any]


class Writer(Protocol):
    """One thing that is being written."""

    is_over: bool

    def feed(self, piece: Any) -> list[Any]:
        """Return what may be shown now that `piece` came."""
        ...

    def end(self) -> list[Any]:
        """Return what was held back."""
        ...


class Pieces:
    """What is being written in one stream, several things at a time."""

    def __init__(self, objects: RunObjects, put: Callable[[Any, Any], Any]) -> None:
        """`put` makes another event of one, given what is shown."""
        self._objects = objects
        self._put = put
        self._open: dict[Hashable, tuple[Writer, Any]] = {}

    def __repr__(self) -> str:
        return f"Pieces({len(self._open)} open)"

    def feed(self, key: Hashable, kind: Callable[[RunObjects], Writer], piece: Any, event: Any) -> list[Any]:
        """Return the events of what may be shown of `piece`, which goes on with what is known by `key`, or begins one of that kind."""
        writer = self._open[key][0] if key in self._open else kind(self._objects)
        self._open[key] = writer, event
        shown = [self._put(event, each) for each in writer.feed(piece)]
        if writer.is_over:
            del self._open[key]
        return shown

    def end(self, key: Hashable) -> list[Any]:
        """Return the rest of what is known by `key`, if it has not ended."""
        if key not in self._open:
            return []
        writer, event = self._open.pop(key)
        return [self._put(event, each) for each in writer.end()]

    def rest(self) -> list[Any]:
        """Return what was held back of all that never ended."""
        return [event for key in list(self._open) for event in self.end(key)]


class WrittenText:
    """A text that a model or a parser writes."""

    is_over = False

    def __init__(self, objects: RunObjects) -> None:
        self._text = objects.texts.stream(spoken=True)

    def feed(self, piece: str) -> list[str]:
        """Return the characters that have settled."""
        return [text] if (text := self._text.feed(piece)) else []

    def end(self) -> list[str]:
        """Return the rest."""
        return [text] if (text := self._text.close()) else []


class WrittenOutput:
    """What a tool writes while it runs: events of the mode `tools`."""

    def __init__(self, objects: RunObjects) -> None:
        self._objects = objects
        self._text = objects.texts.stream()
        self._call: Any = None
        self.is_over = False

    def feed(self, event: Mapping[str, Any]) -> list[Event]:
        """Return the characters that have settled; at another event than a piece, the rest before it."""
        self._call = self._objects.texts.identifier(event.get("tool_call_id"))
        if event.get("event") == "tool-output-delta" and isinstance(event.get("delta"), str):
            return self._shown(self._text.feed(event["delta"]))
        shown = self._objects.engine({**event, "tool_call_id": None}, "protocol")
        return [*self._shown(self._text.close()), {**shown, "tool_call_id": self._call}]

    def end(self) -> list[Event]:
        """Return the rest."""
        return self._shown(self._text.close())

    def _shown(self, text: str) -> list[Event]:
        return [{"event": "tool-output-delta", "tool_call_id": self._call, "delta": text}] if text else []


class WrittenMessage:
    """A message in chunks, or whole."""

    def __init__(self, objects: RunObjects) -> None:
        self._objects = objects
        self._texts = _texts(objects)
        """By the index of their block; a content that is plain text has None."""
        self._in_blocks = False
        self._held: BaseMessageChunk | None = None
        """What comes out when it is whole."""
        self._id: str | None = None
        self._began = False
        self.is_over = False

    def feed(self, message: BaseMessage) -> list[BaseMessage]:
        """Return what may be shown: the first chunk at once, even without text, so that a client knows of the message."""
        if not isinstance(message, BaseMessageChunk):
            self.is_over = not self._began
            return [self._objects.redact(message)]
        is_first, self._began = not self._began, True
        self._id = self._id or message.id
        self.is_over = getattr(message, "chunk_position", None) == "last"
        shown: list[BaseMessage] = []
        if isinstance(message, AIMessageChunk):
            content, held = self._split(message.content)
            if held or any(getattr(message, name) for name in HELD):
                self._hold(message.model_copy(update={"content": held, "chunk_position": None}))
            if content or (is_first and not self.is_over):
                shown = [AIMessageChunk(content=content, id=self._objects.texts.identifier(message.id))]
        else:
            self._hold(message)
        return [*shown, *self._rest(last=True)] if self.is_over else shown

    def end(self) -> list[BaseMessage]:
        """Return the rest."""
        return self._rest(last=False)

    def _rest(self, *, last: bool) -> list[BaseMessage]:
        held = self._held
        if held is not None and not isinstance(held, AIMessageChunk):
            return [self._objects.redact(held)]
        rest = [block for index, text in self._texts.items() for block in self._blocks(index, text.close())]
        fields: dict[str, Any] = {}
        if held is not None:
            blocks = held.content if isinstance(held.content, list) else []
            rest += self._objects.redact(without_sealed([block for block in blocks if block]))
            metadata = {name: item for name, item in held.response_metadata.items() if name in KEPT_METADATA}
            fields = {
                "tool_call_chunks": [self._call(call) for call in held.tool_call_chunks],
                "additional_kwargs": self._objects.redact(without_sealed(held.additional_kwargs)),
                "response_metadata": self._objects.redact(metadata),
                "usage_metadata": held.usage_metadata,
            }
        return [
            AIMessageChunk(
                content=rest if self._in_blocks else "".join(rest),
                id=self._objects.texts.identifier(self._id),
                chunk_position="last" if last else None,
                **fields,
            )
        ]

    def _split(self, content: str | list[str | dict[str, Any]]) -> tuple[Any, Any]:
        """Return what has settled of the text, and what else is in `content`."""
        if isinstance(content, str):
            return ([], "") if not content and self._in_blocks else (self._texts[None].feed(content), "")
        self._in_blocks = True
        shown: list[Any] = []
        held: list[Any] = []
        for each in content:
            block = {"type": "text", "text": each} if isinstance(each, str) else each
            if block.get("type") != "text" or not isinstance(block.get("text"), str):
                held.append(block)
                continue
            index = block.get("index")
            shown += self._blocks(index, self._texts[index].feed(block["text"]))
            if block.keys() - {"type", "text", "index"}:
                held.append({**block, "text": ""})
        return shown, held

    def _blocks(self, index: Hashable, text: str) -> list[Any]:
        if not text or not self._in_blocks:
            return [text] if text else []
        return [{"type": "text", "text": text, **({} if index is None else {"index": index})}]

    def _hold(self, chunk: BaseMessageChunk) -> None:
        self._held = chunk if self._held is None else self._held + chunk

    def _call(self, call: Mapping[str, Any]) -> Any:
        return tool_call_chunk(
            name=self._objects.redact(call.get("name")),
            args=redacted_json(call.get("args"), self._objects),
            id=self._objects.texts.identifier(call.get("id")),
            index=call.get("index"),
        )


class WrittenBlocks:
    """A message in the content blocks of the event protocol (`version="v3"`). Of a block that is no text, the whole comes at its end."""

    def __init__(self, objects: RunObjects) -> None:
        self._objects = objects
        self._texts = _texts(objects)
        self._shown: dict[Any, str] = {}
        self._in_pieces: set[Any] = set()
        """Blocks that are no text, and came in pieces."""
        self.is_over = False

    def feed(self, event: Mapping[str, Any]) -> list[Event]:
        """Return what may be shown for `event`."""
        kind, index = event.get("event"), event.get("index")
        if kind == "message-start":
            return [self._with_id(event, self._objects.engine(event, "protocol"))]
        if kind == "content-block-start":
            block = event.get("content") or {}
            first = {"event": kind, "index": index, "content": self._shell(block)}
            return [first, *self._text(index, block["text"])] if block.get("text") else [first]
        if kind == "content-block-delta":
            delta = event.get("delta") or event.get("content") or {}
            if delta.get("type") in ("text-delta", "text") and isinstance(delta.get("text"), str):
                return self._text(index, delta["text"])
            self._in_pieces.add(index)
            return []
        if kind == "content-block-finish":
            return self._finished(index, event)
        self.is_over = True
        return [*self.end(), self._last(event)]

    def end(self) -> list[Event]:
        """Return the rest of the texts."""
        return [event for index in list(self._texts) for event in self._close(index)]

    def _with_id(self, given: Mapping[str, Any], shown: Event) -> Event:
        return {**shown, "id": self._objects.texts.identifier(given["id"])} if "id" in given else shown

    def _shell(self, block: Mapping[str, Any]) -> Event:
        """Return a block without what is still to be written."""
        named = {name: block[name] for name in ("type", "index") if name in block}
        empty = {name: type(block[name])() for name in WRITTEN if name in block}
        name = {"name": self._objects.redact(block["name"])} if "name" in block else {}
        return self._with_id(block, {**named, **empty, **name})

    def _text(self, index: Any, text: str) -> list[Event]:
        return self._shows(index, self._texts[index].feed(text))

    def _close(self, index: Any) -> list[Event]:
        return self._shows(index, self._texts.pop(index).close()) if index in self._texts else []

    def _shows(self, index: Any, text: str) -> list[Event]:
        self._shown[index] = self._shown.get(index, "") + text
        return list(_deltas(index, "text-delta", text=text)) if text else []

    def _finished(self, index: Any, event: Mapping[str, Any]) -> list[Event]:
        rest = self._close(index)
        block = event.get("content") or {}
        content = self._with_id(block, self._objects.engine(without_sealed(dict(block)), "protocol"))
        if block.get("type") == "text" and index in self._shown:
            content["text"] = self._shown.pop(index)
        elif block.get("type") == "reasoning" and content.get("reasoning"):
            rest += _deltas(index, "reasoning-delta", reasoning=content["reasoning"])
        elif block.get("type") in ("tool_call", "server_tool_call") and index in self._in_pieces:
            written = redacted_json(json.dumps(block.get("args"), default=str), self._objects)
            rest += _deltas(index, "tool-call-delta", args=written)
        return [*rest, {"event": "content-block-finish", "index": index, "content": content}]

    def _last(self, event: Mapping[str, Any]) -> Event:
        if event.get("event") != "message-finish":
            return dict(self._objects.redact(dict(event)))
        kept = {name: item for name, item in (event.get("metadata") or {}).items() if name in KEPT_METADATA}
        shown = self._objects.engine(without_sealed({**event, "metadata": None}), "protocol")
        return {**shown, **({"metadata": self._objects.redact(kept)} if "metadata" in event else {})}


def _texts(objects: RunObjects) -> defaultdict[Hashable, TextStream]:
    return defaultdict(lambda: objects.texts.stream(spoken=True))


def _deltas(index: Any, kind: str, **written: Any) -> Iterator[Event]:
    yield {"event": "content-block-delta", "index": index, "delta": {"type": kind, **written}}


def redacted_json(text: str | None, objects: RunObjects) -> str | None:
    """Return the arguments of a call, as a model writes them, redacted; what is no JSON as text."""
    if not text:
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return objects.texts.redact(text)
    return json.dumps(objects.redact(value), ensure_ascii=False, default=str)
