"""Redact messages that arrive in pieces: text as it settles, all else when it is whole."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any, Final

from langchain_core.messages import AIMessageChunk, BaseMessage, BaseMessageChunk

from discreet.graph.guard.objects import RunObjects, without_sealed
from discreet.graph.guard.texts import TextStream
from discreet.nodes.state_messages import KEPT_METADATA

HELD: Final = ("tool_call_chunks", "additional_kwargs", "response_metadata", "usage_metadata")
"""What chunks have besides their content."""

Content = str | list[str | dict[str, Any]]


class MessageChunks:
    """The messages of one run that are being written, several at a time."""

    def __init__(self, objects: RunObjects) -> None:
        self._objects = objects
        self._open: dict[Hashable, _OpenMessage] = {}

    def __repr__(self) -> str:
        return f"MessageChunks({len(self._open)} open)"

    def feed(self, key: Hashable, message: BaseMessage) -> list[BaseMessage]:
        """Return what may be shown of `message`, which continues the one that is known by `key`, or is whole itself."""
        if not isinstance(message, BaseMessageChunk):
            return [self._objects.redact(message)]
        is_new = key not in self._open
        opened = self._open.setdefault(key, _OpenMessage(self._objects))
        shown = opened.feed(message)
        if getattr(message, "chunk_position", None) == "last":
            return self.end(key, before=shown)
        return [shown] if shown is not None and (is_new or shown.content) else []

    def end(self, key: Hashable, *, before: BaseMessage | None = None, last: bool = True) -> list[BaseMessage]:
        """Return the rest of the message that is known by `key`, if it is open; `before` is what came of its last piece."""
        opened = self._open.pop(key, None)
        if opened is None:
            return []
        return [*([before] if before is not None and before.content else []), opened.close(last=last)]

    def open(self) -> list[Hashable]:
        """Return what the messages are known by that have not ended."""
        return list(self._open)


class _OpenMessage:
    """One message in pieces."""

    def __init__(self, objects: RunObjects) -> None:
        self._objects = objects
        self._texts: dict[Hashable, TextStream] = {}
        """By the index of their block; a content that is plain text has None."""
        self._in_blocks = False
        self._held: BaseMessageChunk | None = None
        """What comes out when it is whole."""
        self._id: str | None = None

    def feed(self, chunk: BaseMessageChunk) -> BaseMessageChunk | None:
        """Take a piece; return what may be shown of it, without text if nothing has settled."""
        self._id = self._id or chunk.id
        if not isinstance(chunk, AIMessageChunk):
            self._hold(chunk)
            return None
        shown, held = self._split(chunk.content)
        if held or any(getattr(chunk, name) for name in HELD):
            self._hold(chunk.model_copy(update={"content": held, "chunk_position": None}))
        return AIMessageChunk(content=shown, id=self._objects.texts.identifier(chunk.id))

    def close(self, *, last: bool) -> BaseMessage:
        """Return the rest."""
        held = self._held
        if held is not None and not isinstance(held, AIMessageChunk):
            whole: BaseMessage = self._objects.redact(held)
            return whole
        rest: list[Any] = [
            {"type": "text", "text": text, **({} if index is None else {"index": index})} if self._in_blocks else text
            for index, stream in self._texts.items()
            if (text := stream.close())
        ]
        fields: dict[str, Any] = {}
        if held is not None:
            blocks = held.content if isinstance(held.content, list) else []
            rest += self._objects.redact(without_sealed([block for block in blocks if block]))
            fields = {
                "tool_call_chunks": [self._call(call) for call in held.tool_call_chunks],
                "additional_kwargs": self._objects.redact(without_sealed(held.additional_kwargs)),
                "response_metadata": {
                    key: self._objects.redact(item)
                    for key, item in held.response_metadata.items()
                    if key in KEPT_METADATA
                },
                "usage_metadata": held.usage_metadata,
            }
        return AIMessageChunk(
            content=rest if self._in_blocks else "".join(rest),
            id=self._objects.texts.identifier(self._id),
            chunk_position="last" if last else None,
            **fields,
        )

    def _split(self, content: Content) -> tuple[Any, Any]:
        """Return what is settled of the text, and what else is in `content`."""
        if isinstance(content, str):
            if not content and self._in_blocks:
                return [], ""
            return self._text(None, content), ""
        self._in_blocks = True
        shown: list[Any] = []
        held: list[Any] = []
        for each in content:
            block = {"type": "text", "text": each} if isinstance(each, str) else each
            if block.get("type") != "text" or not isinstance(block.get("text"), str):
                held.append(block)
                continue
            index = block.get("index")
            if text := self._text(index, block["text"]):
                shown.append({"type": "text", "text": text, **({} if index is None else {"index": index})})
            if block.keys() - {"type", "text", "index"}:
                held.append({**block, "text": ""})
        return shown, held

    def _text(self, index: Hashable, text: str) -> str:
        if index not in self._texts:
            self._texts[index] = self._objects.texts.stream(spoken=True)
        return self._texts[index].feed(text)

    def _hold(self, chunk: BaseMessageChunk) -> None:
        self._held = chunk if self._held is None else self._held + chunk

    def _call(self, call: Any) -> dict[str, Any]:
        rest = self._objects.redact({key: item for key, item in call.items() if key not in ("id", "args", "index")})
        return {
            **rest,
            "id": self._objects.texts.identifier(call.get("id")),
            "args": redacted_json(call.get("args"), self._objects),
            "index": call.get("index"),
        }


def redacted_json(text: str | None, objects: RunObjects) -> str | None:
    """Return the arguments of a call, as a model writes them, redacted; what is no JSON as text."""
    if not text:
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return objects.texts.redact(text)
    return json.dumps(objects.redact(value), ensure_ascii=False, default=str)
