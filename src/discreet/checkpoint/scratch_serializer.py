"""Serialize the open turn for RAM: stored messages, which are there already, are kept as they are."""

from __future__ import annotations

from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.base import SerializerProtocol

from discreet.checkpoint.stored_messages import KnownMessages, StoredMessages

FRONT = "front"
"""Type of a value that `ScratchSerializer` made."""


class Front(NamedTuple):
    """A serialized list of messages that begins with stored ones: these are kept once, as they were read."""

    stored: StoredMessages
    length: int
    rest: tuple[str, bytes]

    def __len__(self) -> int:
        """Return the size of what isn't stored, in bytes."""
        return len(self.rest[1])


class ScratchSerializer(SerializerProtocol):
    """Serializes like `inner`, but stored messages at the front of a list not at all.

    So what a put costs depends on the open turn, not on the length of the thread.
    """

    def __init__(self, inner: SerializerProtocol, known: KnownMessages) -> None:
        self._inner = inner
        self._known = known
        self.written = 0
        """Bytes that were serialized."""

    def dumps_typed(self, obj: Any) -> tuple[str, Any]:
        """Return the type and the bytes of `obj`, or a `Front`."""
        if type(obj) is list and obj and isinstance(obj[0], BaseMessage):
            stored, count = self._known.front(obj, unchanged=False)
            if stored is not None:
                front = Front(stored, count, self._inner.dumps_typed(obj[count:]))
                self.written += len(front)
                return FRONT, front
        typed = self._inner.dumps_typed(obj)
        self.written += len(typed[1])
        return typed

    def loads_typed(self, data: tuple[str, Any]) -> Any:
        """Return the value of `data`."""
        if data[0] == FRONT:
            front: Front = data[1]
            return [*front.stored.shown[: front.length], *self._inner.loads_typed(front.rest)]
        return self._inner.loads_typed(data)
