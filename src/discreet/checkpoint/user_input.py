"""What came in with a run's input, an answer or `update_state`: only messages of these are the user's.

Graphs write human messages of their own: a middleware a summary of what it removed, a tool its result, an agent a hand-over to
another. In a conversation that is stored these would be words put into the user's mouth, and may quote anything.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, convert_to_messages
from pydantic import BaseModel

from discreet.state.message_text import MADE_BY, all_spoken, as_content, as_spoken, text_blocks, text_of


class Came(NamedTuple):
    """A message as it came in."""

    blocks: list[str]
    """Its texts."""
    has_media: bool

    @classmethod
    def of(cls, message: BaseMessage) -> Self:
        """Return it."""
        content = message.content if isinstance(message.content, list) else ()
        return cls(
            text_blocks(message.content), any(isinstance(each, dict) and each.get("type") != "text" for each in content)
        )


class Replaced(HumanMessage):
    """A message as it came in, in whose place a node has put something else."""

    now: str
    """What a node has put there. A value that it took out, as LangChain's `PIIMiddleware` does, is not shown to later turns."""


@dataclass
class UserInput:
    """What callers handed over in the open turn, or in one that is still in RAM."""

    ids: dict[str, list[str] | None] = field(default_factory=dict)
    """The texts of each message, as they came: a node may put something else under its id. None: it came in a turn that is over."""
    texts: set[str] = field(default_factory=set)
    """All texts, without the space around them."""
    media: set[str] = field(default_factory=set)
    """Ids of the messages that came with more than text: a recording is its summary, which the first node puts in its place."""
    given: dict[str, list[Came]] = field(default_factory=dict)
    """The messages that an input adds to each channel, until its first step has given them ids."""

    def has(self, message: BaseMessage) -> bool:
        """Return whether `message` came in: as a message, or as text that a node made a message of."""
        if message.id in self.ids:
            return True
        return isinstance(message, HumanMessage) and text_of(message).strip() in self.texts

    def as_came(self, message: BaseMessage) -> BaseMessage:
        """Return a message of the user's with the text that came in under its id; one with media as the graph tells it."""
        came = None if message.id in self.media else self.ids.get(message.id or "")
        if came is None or came == text_blocks(message.content):
            return message
        return Replaced(content=as_content(came), id=message.id, now=text_of(message))

    def begin_turn(self) -> None:
        """Forget the texts of messages so far: what is told of these is stored, and an input may put another under the same id."""
        self.ids = dict.fromkeys(self.ids)
        self.media.clear()

    def note(self, value: Any) -> None:
        """Note all messages and texts in `value`, a graph's input or an answer to an interrupt."""
        for item in _leaves(value):
            if isinstance(item, str):
                self.texts.add(item.strip())
            else:
                self.note_messages([item])

    def note_messages(self, messages: Iterable[Any]) -> None:
        """Note messages that came in."""
        for message in map(as_spoken, messages):
            if isinstance(message, BaseMessage) and MADE_BY not in message.additional_kwargs:
                if message.id:
                    self._name(message.id, Came.of(message))
                if isinstance(message, HumanMessage):
                    self.texts.add(text_of(message).strip())

    def note_given(self, channel: str, messages: Sequence[BaseMessage], *, there: AbstractSet[str | None]) -> None:
        """Note an input's messages for a channel that has those of the ids `there`."""
        self.note_messages(messages)
        new = [m for m in messages if not isinstance(m, RemoveMessage) and (m.id is None or m.id not in there)]
        self.given[channel] = [Came.of(message) for message in new]

    def note_named(self, channel: str, messages: Sequence[BaseMessage]) -> None:
        """Note the ids that an input's new messages have got, with the texts that they came with.

        With durability "async" the first node runs already, and may have changed theirs.
        """
        given = self.given.pop(channel, [])
        if len(given) != len(messages):  # the graph has a reducer of its own
            self.note_messages(messages)
            return
        for message, came in zip(messages, given, strict=True):
            if message.id and MADE_BY not in message.additional_kwargs:
                self._name(message.id, came)

    def _name(self, message_id: str, came: Came) -> None:
        self.ids[message_id] = came.blocks
        if came.has_media:
            self.media.add(message_id)


def as_mapping(value: Any) -> Mapping[str, Any] | None:
    """Return the fields of a graph's input: a dict, a pydantic model or a dataclass. None if it has none."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, BaseModel):
        return {name: getattr(value, name) for name in type(value).model_fields}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    return None


class Read(NamedTuple):
    """What a run has read as it began."""

    ids: frozenset[str | None] = frozenset()
    """Of the messages that were there."""
    input_version: Any = None
    """Version of LangGraph's channel of inputs: a run with a new one has another."""
    unfinished: bool = False
    """Whether nodes were about to run, or had failed, and none waited for an answer."""


def as_messages(value: Any) -> list[BaseMessage] | None:
    """Return a write to a message channel as messages: they may come as dicts, pairs or text. None if it is no such."""
    try:
        return [*map(as_spoken, convert_to_messages(value if isinstance(value, list) else [value]))]
    except (ValueError, TypeError, KeyError, NotImplementedError):
        return None


def came_first(messages: Sequence[Any], stored: Iterable[str | None]) -> list[BaseMessage]:
    """Return which of `messages` the input of a run is, where LangGraph doesn't tell: with durability "exit" it saves once.

    An input is appended to what is `stored`, so it is the human message that follows the last one of those ids. In a thread
    without any it may be a conversation that a client had elsewhere: questions and answers in turn, up to the first thing that
    only a graph does. A message that follows another is not counted: a node may have put it there, with whatever it found.
    """
    known = set(stored) - {None}
    last = max((at for at, message in enumerate(messages) if getattr(message, "id", None) in known), default=-1)
    new = all_spoken(messages[last + 1 :])
    came: list[BaseMessage] = []
    for at, message in enumerate(new):
        if isinstance(message, HumanMessage) and MADE_BY not in message.additional_kwargs:
            after = new[at - 1] if came else None
            if isinstance(after, HumanMessage) or (came and (known or at + 1 == len(new))):
                break
            came.append(message)
        elif came and (not isinstance(message, AIMessage) or message.tool_calls):
            break
    return came


def _leaves(value: Any) -> Iterator[Any]:
    """Yield the messages and texts in plain data."""
    if isinstance(value, (str, BaseMessage)):
        yield value
    elif (fields := as_mapping(value)) is not None:
        for item in fields.values():
            yield from _leaves(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
