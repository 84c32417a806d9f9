"""Rebuild a conversation from what may be stored of it.

A turn begins with a user's message and ends before the next one. Stored are the user's messages and, of a turn that is
over, the last message if it is an answer. Everything between is the turn's own work: tool calls, tool results, plans.
A tool call is dropped with the whole message that carries it, because providers refuse a call without its result.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, cast
from uuid import UUID, uuid4, uuid5

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
    convert_to_messages,
)
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages

from discreet.checkpoint.policy import CheckpointPolicy
from discreet.state.reasoning import without_reasoning
from discreet.state.text import storable

ID_SPACE = UUID("5a1c7a52-7f0b-5d7e-9d0e-0f6b8c2f4e11")
ENGINE_ID = re.compile(r"((lc_)?run-{1,2})?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(-\d{1,3})?", re.IGNORECASE)
"""A UUID, alone or as LangChain writes a run's messages: `lc_run--<uuid>-0`."""

get_id = operator.attrgetter("id")
get_content = operator.attrgetter("content")

TOOL_BLOCKS = {"tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call", "function_call"}
TOOL_KEYS = {"tool_calls", "function_call"}


@dataclass(frozen=True)
class Selection:
    """Which messages of a channel are stored."""

    messages: list[BaseMessage]
    """As they came: `rebuild` them."""
    complete: bool
    """Whether the running turn, from its user's message on, could go on from these alone."""


def select(
    messages: Sequence[Any], *, closed: bool, start: int = 0, unended: AbstractSet[str] = frozenset()
) -> Selection:
    """Choose what is stored of `messages` from `start` on; `closed` says whether the last turn is over.

    `unended` are texts of the model in turns that failed or were given up: they are no answers, though another message
    of the user follows.
    """
    kept: list[BaseMessage] = []
    complete = True
    for position in range(start, len(messages)):
        message = messages[position]
        if not isinstance(message, BaseMessage):
            complete = False
            continue
        following = messages[position + 1] if position + 1 < len(messages) else None
        ends_turn = closed if following is None else isinstance(following, HumanMessage)
        ends_turn = ends_turn and message.text not in unended
        if isinstance(message, HumanMessage):
            complete = True  # what an earlier turn lost doesn't matter to this one
        elif not isinstance(message, RemoveMessage) and not (ends_turn and is_answer(message)):
            complete = False
            continue
        complete = complete and _is_text(message)
        kept.append(message)
    return Selection(kept, complete)


def is_answer(message: BaseMessage) -> bool:
    """Return whether `message` says something to the user and asks for nothing to be run."""
    if not isinstance(message, AIMessage) or message.tool_calls or message.invalid_tool_calls:
        return False
    if message.additional_kwargs and TOOL_KEYS & message.additional_kwargs.keys():
        return False
    content = message.content
    if isinstance(content, str):
        spoken = without_reasoning(content)
        return bool(spoken) and not spoken.isspace()
    kinds = {block.get("type") for block in content if isinstance(block, dict)}
    return not TOOL_BLOCKS & kinds and bool(without_reasoning(str(message.text)).strip())


def said_last(messages: Sequence[BaseMessage]) -> set[str]:
    """Return what the model has said since the user's last message."""
    turn = takewhile(lambda message: not isinstance(message, HumanMessage), reversed(messages))
    return {str(message.text) for message in turn if isinstance(message, AIMessage)}


def rebuild(message: BaseMessage, policy: CheckpointPolicy) -> BaseMessage:
    """Return a new message with the id and the redacted text of `message`, without reasoning, and nothing else."""
    if isinstance(message, RemoveMessage):
        # The one id with a meaning of its own: LangGraph's "remove all".
        return RemoveMessage(id=message.id if message.id == REMOVE_ALL_MESSAGES else safe_id(message.id) or "")
    text = str(message.text)
    if isinstance(message, HumanMessage):
        return HumanMessage(content=policy.redact(storable(text)), id=safe_id(message.id))
    return AIMessage(content=policy.redact(storable(without_reasoning(text))), id=safe_id(message.id))


class Chosen(list[BaseMessage]):
    """Messages to store, with their ids and texts as they were when they were read or redacted: these are stored.

    Stored messages of a thread are the very objects that its graph works on, and a node may change one at any moment.
    """

    def __init__(self, messages: Iterable[BaseMessage], ids: list[str | None], texts: list[Any]) -> None:
        super().__init__(messages)
        self.ids = ids
        self.texts = texts

    @classmethod
    def of(cls, messages: Sequence[BaseMessage]) -> Chosen:
        """Return `messages` with what they hold now."""
        return cls(messages, list(map(get_id, messages)), list(map(get_content, messages)))

    def with_more(self, messages: Sequence[BaseMessage]) -> Chosen:
        """Return these and after them `messages`, with what the latter hold now."""
        more = Chosen.of(messages)
        return Chosen(self + more, self.ids + more.ids, self.texts + more.texts)

    def copied(self) -> list[BaseMessage]:
        """Return new messages of the same ids and texts."""
        return [
            message if isinstance(message, RemoveMessage) else type(message)(content=text, id=message_id)
            for message, message_id, text in zip(self, self.ids, self.texts, strict=True)
        ]


def fold(before: Chosen, given: Sequence[BaseMessage]) -> Chosen:
    """Return the messages of a channel once `given` have been written to it, as LangGraph's `add_messages` does."""
    removes = any(isinstance(message, RemoveMessage) for message in given)
    if not removes and {message.id for message in given}.isdisjoint(before.ids):
        return before.with_more(given)
    there = {*before.ids, *(message.id for message in given if not isinstance(message, RemoveMessage))}
    # A removal of what isn't stored removes nothing here; `add_messages` would raise.
    known = [m for m in given if not isinstance(m, RemoveMessage) or m.id in {*there, REMOVE_ALL_MESSAGES}]
    folded = cast("list[BaseMessage]", add_messages(before.copied(), known))  # type: ignore[arg-type]  # its types are narrower than what it takes
    return Chosen.of(folded)


def give_ids(written: Any) -> None:
    """Give each message object among `written` an id, as LangGraph's `add_messages` does to it a step later.

    So the message that is stored with the input is the one that is stored with the turn.
    """
    for message in written if isinstance(written, list) else [written]:
        if isinstance(message, BaseMessage) and not message.id:
            message.id = str(uuid4())


def dangling(messages: Sequence[BaseMessage]) -> bool:
    """Return whether the last thing said is a tool call without all of its results: providers refuse what follows."""
    results: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            results.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            return any(call["id"] not in results for call in message.tool_calls)
        else:
            return False
    return False


def without_dead_calls(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return `messages` without tool calls that lack a result and can't get one: a user's message follows them."""
    kept: list[BaseMessage] = []
    round_: list[BaseMessage] = []
    for message in messages:
        if isinstance(message, HumanMessage) and round_ and dangling(round_):
            round_ = []
        elif not isinstance(message, ToolMessage):
            kept += round_
            round_ = []
        round_.append(message)
    return [*kept, *round_]


def safe_id(message_id: str | None) -> str | None:
    """Return `message_id` if it is an engine's own, else a UUID derived from it. Pure and idempotent."""
    if message_id is None or ENGINE_ID.fullmatch(message_id):
        return message_id
    return str(uuid5(ID_SPACE, message_id))


def as_messages(value: Any) -> list[BaseMessage] | None:
    """Return a write to a message channel as messages: they may come as dicts, pairs or text. None if it is no such."""
    try:
        return convert_to_messages(value if isinstance(value, list) else [value])
    except (ValueError, TypeError, KeyError, NotImplementedError):
        return None


def _is_text(message: BaseMessage) -> bool:
    return isinstance(message.content, str) or all(
        isinstance(block, str) or block.get("type") == "text" for block in message.content
    )
