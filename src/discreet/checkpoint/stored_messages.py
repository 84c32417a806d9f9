"""Which messages of a thread are stored, so that a put costs what is new in it and not what the thread holds.

A thread's stored messages come back to the saver with every checkpoint of a turn, mostly as the very objects that a read
returned: to see that takes 5 ns a message, to compare an equal one 1 µs, where redacting one takes about 100 µs.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from itertools import takewhile
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage

from discreet.checkpoint.messages import Chosen, form_of, get_content, made, rebuild
from discreet.checkpoint.policy import CheckpointPolicy
from discreet.checkpoint.shown import spelling_of
from discreet.checkpoint.user_input import Replaced
from discreet.state.message_text import joined, spoken_blocks


class StoredMessages:
    """The messages of one channel as the durable tier has them, and as they are shown: with values for placeholders."""

    def __init__(self, shown: Sequence[BaseMessage], rows: Sequence[BaseMessage] | None = None) -> None:
        """Without `rows` they are shown as they are stored."""
        self.shown = Chosen.of(shown)
        self.rows = self.shown if rows is None else Chosen.of(rows)

    @property
    def is_changed(self) -> bool:
        """Whether some are shown otherwise than they are stored."""
        return self.rows is not self.shown

    def prefix(self, messages: Sequence[BaseMessage], *, unchanged: bool) -> int:
        """Return how many messages at the front are these; `unchanged`, because a node may change one in place."""
        shown = self.shown
        count = len(shown)
        front = messages[:count]
        # Of the same objects, which is the usual case, this compares nothing else.
        if front == shown and (not unchanged or list(map(get_content, front)) == shown.texts):
            return count
        same = zip(shown, shown.texts, front, strict=False)
        return sum(1 for _ in takewhile(lambda item: item[0] == item[2] and item[1] == item[2].content, same))

    def chosen(self, count: int) -> Chosen:
        """Return the first `count` as the durable tier has them, whatever a node has done to them."""
        return self.rows.first(count)

    @cached_property
    def places(self) -> dict[str | None, int]:
        """Where each id stands."""
        return {message_id: at for at, message_id in enumerate(self.rows.ids)}

    def row_of(self, message: BaseMessage, policy: CheckpointPolicy) -> BaseMessage | None:
        """Return what is stored of a `message` that comes back from the graph or a client; None if it is another one, or a changed one.

        That is the one as it was shown, as it is stored, or as it was said at first. The vault may have lost its values since.
        """
        if (at := self.places.get(message.id)) is None:
            return None
        shown, rows = self.shown, self.rows
        text, form = joined(spoken_blocks(message)), form_of(message)
        if (text, form) not in {(shown.texts[at], shown.forms[at]), (rows.texts[at], rows.forms[at])}:
            kinds = {each.partition(":")[0] for each in (form, rows.forms[at])}
            if len(kinds) > 1 or not policy.is_as_stored(rows.texts[at], text):
                return None
            if form != rows.forms[at] and not policy.is_as_stored(rows.forms[at], form):
                return None
        return made(rows.forms[at], rows.ids[at], rows.texts[at])

    def size(self) -> int:
        """Return their size in characters."""
        return sum(map(len, self.rows.texts)) * (2 if self.is_changed else 1)


class ShownValue(NamedTuple):
    """The value of a channel that is shown otherwise than it is stored. Both are plain data."""

    shown: Any
    stored: Any


class KnownMessages:
    """The stored messages of a thread, and what has been rebuilt of the open turn's."""

    def __init__(self) -> None:
        self._stored: dict[tuple[str, str], StoredMessages] = {}
        self.ids: set[str | None] = set()
        """Of all stored messages."""
        self._rebuilt: dict[tuple[str | None, str, str | tuple[str, ...]], BaseMessage] = {}
        """By what a message says, whichever object says it."""
        self._values: dict[str, ShownValue] = {}
        self._size = 0

    def note(
        self, ns: str, channel: str, shown: Sequence[BaseMessage], rows: Sequence[BaseMessage] | None = None
    ) -> None:
        """Remember messages as what the durable tier holds; `rows` where they are shown otherwise."""
        stored = self._stored[ns, channel] = StoredMessages(shown, rows)
        self.ids.update(stored.rows.ids)
        self._size += stored.size()

    def note_value(self, channel: str, shown: Any, stored: Any) -> None:
        """Remember the value of a channel that is shown otherwise than it is stored."""
        self._values[channel] = ShownValue(copy.deepcopy(shown), stored)  # a node may change what it was shown

    def note_foreign(self, shown: BaseMessage, row: BaseMessage, policy: CheckpointPolicy) -> None:
        """Remember a message that another saver has stored, and that is shown otherwise."""
        self._rebuilt[_said(shown)] = rebuild(row, policy)

    def value(self, channel: str) -> ShownValue | None:
        """Return how the value of a channel is shown, if otherwise than it is stored."""
        return self._values.get(channel)

    def stored(self, ns: str, channel: str) -> Chosen:
        """Return the messages that the durable tier holds of a channel."""
        stored = self._stored.get((ns, channel))
        return stored.rows if stored else Chosen.of([])

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
            at = each.places.get(message_id)
            if at is not None and each.rows.forms[at] == "ai":
                return AIMessage(each.rows.texts[at], id=message_id)
        return None

    def rebuild(self, message: BaseMessage, policy: CheckpointPolicy) -> BaseMessage:
        """Return what is stored of `message`, redacted once for all checkpoints of a turn. What is stored already stays as it is."""
        said = _said(message)
        if (found := self._rebuilt.get(said)) is None:
            known = self._stored.values() if message.id in self.ids and message.id else ()
            rows = (row for stored in known if (row := stored.row_of(message, policy)))
            found = self._rebuilt[said] = next(rows, None) or rebuild(message, policy)
            if policy.values is not None:
                policy.values.update(spelling_of(message, found, policy.values))
        return found

    def copied(self) -> KnownMessages:
        """Return the same, as another thread's that has copies of the rows."""
        copied = KnownMessages()
        copied._stored, copied.ids, copied._size = dict(self._stored), set(self.ids), self._size
        copied._values = dict(self._values)
        return copied

    def size(self) -> int:
        """Return the size of the stored messages in characters."""
        return self._size


def _said(message: BaseMessage) -> tuple[str | None, str, str | tuple[str, ...]]:
    """Return all of a message that its stored form is made of."""
    content: Any = message.content
    said = content if isinstance(content, str) else tuple(spoken_blocks(message))
    return (
        message.id,
        form_of(message),
        (*spoken_blocks(message), message.now) if isinstance(message, Replaced) else said,
    )
