"""Texts that were redacted before, known by their digests."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage


class RedactionCache:
    """Knows, by digest, the last texts that came out of the redactor of a thread. Thread-safe."""

    def __init__(self, size: int = 10_000) -> None:
        self._size = size
        self._digests: OrderedDict[bytes, None] = OrderedDict()
        self._lock = threading.Lock()

    def has(self, thread: str, message: BaseMessage) -> bool:
        """Whether `message` is text only, and the text is known."""
        digest = self._digest(thread, message)
        with self._lock:
            known = digest in self._digests
            if known and digest is not None:
                self._digests.move_to_end(digest)
            return known

    def add(self, thread: str, message: BaseMessage) -> None:
        """Know `message` from now on, if it is text only."""
        digest = self._digest(thread, message)
        if digest is None:
            return
        with self._lock:
            self._digests[digest] = None
            if len(self._digests) > self._size:
                self._digests.popitem(last=False)

    @staticmethod
    def _digest(thread: str, message: BaseMessage) -> bytes | None:
        if not isinstance(message, HumanMessage | AIMessage) or not isinstance(message.content, str):
            return None
        if message.additional_kwargs or message.name or (isinstance(message, AIMessage) and message.tool_calls):
            return None
        return hashlib.blake2b(f"{thread}\0{message.content}".encode("utf-8", "replace"), digest_size=16).digest()
