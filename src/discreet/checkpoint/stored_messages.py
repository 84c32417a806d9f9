"""Which messages of a thread are stored, so that a put costs what is new in it and not what the thread holds.

A thread's stored messages come back to the saver with every checkpoint of a turn, mostly as the very objects that a read
returned: to see that takes 5 ns a message, to compare an equal one 1 µs, where redacting one takes about 100 µs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from discreet.checkpoint.messages import Chosen, forms_of, get_content, get_id, rebuild
from discreet.checkpoint.policy import CheckpointPolicy
from discreet.state.message_text import text_blocks


class StoredMessages:
    """The messages of one channel as the durable tier returned them."""

    def __init__(self, messages: Sequence[BaseMessage]) -> None:
        self.messages = list(messages)
        self.ids = list(map(get_id, self.messages))
        self.texts = list(map(get_content, self.messages))
        self.forms = forms_of(self.messages)

    def prefix(self, messages: Sequence[BaseMessage], *, unchanged: bool) -> int:
        """Return how many messages at the front are these; `unchanged`, because a node may change one in place."""
        count = len(self.messages)
        front = messages[:count]
        # Of the same objects, which is the usual case, this compares nothing else.
        if front == self.messages and (not unchanged or list(map(get_content, front)) == self.texts):
            return count
        same = zip(self.messages, self.texts, front, strict=False)
        return sum(1 for _ in takewhile(lambda item: item[0] == item[2] and item[1] == item[2].content, same))

    def chosen(self, count: int) -> Chosen:
        """Return the first `count` as the durable tier has them, whatever a node has done to them."""
        return Chosen(self.messages[:count], self.ids[:count], self.texts[:count], self.forms[:count])

    def as_stored(self) -> list[BaseMessage]:
        """Return new messages as the durable tier has these."""
        return self.chosen(len(self.messages)).copied()

    def size(self) -> int:
        """Return their size in characters."""
        return sum(map(len, self.texts))


class KnownMessages:
    """The stored messages of a thread, and what has been rebuilt of the open turn's."""

    def __init__(self) -> None:
        self._stored: dict[tuple[str, str], StoredMessages] = {}
        self.ids: set[str | None] = set()
        """Of all stored messages."""
        self._rebuilt: dict[int, tuple[BaseMessage, tuple[str | list[str], str | None], BaseMessage]] = {}
        self._size = 0

    def note(self, ns: str, channel: str, messages: Sequence[BaseMessage]) -> None:
        """Remember `messages` as what the durable tier holds."""
        stored = self._stored[ns, channel] = StoredMessages(messages)
        self.ids.update(stored.ids)
        self._size += stored.size()

    def stored(self, ns: str, channel: str) -> Chosen:
        """Return the messages that the durable tier holds of a channel."""
        stored = self._stored.get((ns, channel))
        return stored.chosen(len(stored.messages)) if stored else Chosen.of([])

    def front(self, messages: Sequence[BaseMessage], *, unchanged: bool = True) -> tuple[StoredMessages | None, int]:
        """Return which stored messages `messages` begin with, and how many of them.

        Whether each is `unchanged` costs three times as much to know as that it is the very object.
        """
        for stored in self._stored.values():
            if count := stored.prefix(messages, unchanged=unchanged):
                return stored, count
        return None, 0

    def answer(self, message_id: str | None) -> BaseMessage | None:
        """Return the stored answer of an id, as it was read."""
        for each in self._stored.values():
            if message_id in each.ids and each.forms[at := each.ids.index(message_id)] == "ai":
                return AIMessage(each.texts[at], id=message_id)
        return None

    def rebuild(self, message: BaseMessage, policy: CheckpointPolicy) -> BaseMessage:
        """Return what is stored of `message`, redacted once for all checkpoints of a turn."""
        content: Any = message.content
        # LangGraph may give it an id after the first checkpoint.
        now = (content if isinstance(content, str) else text_blocks(content), message.id)
        found = self._rebuilt.get(id(message))
        if found is None or found[0] is not message or found[1] != now:
            found = self._rebuilt[id(message)] = (message, now, rebuild(message, policy))
        return found[2]

    def clear(self) -> None:
        """Forget everything."""
        self._stored.clear()
        self.ids.clear()
        self._rebuilt.clear()
        self._size = 0

    def size(self) -> int:
        """Return the size of the stored messages in characters."""
        return self._size
