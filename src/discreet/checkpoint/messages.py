"""Rebuild a conversation from what may be stored of it.

A turn begins with a user's message and ends before the next one. Stored are the user's messages and, of a turn that is
over, the last message if it is an answer. Everything between is the turn's own work: tool calls, tool results, plans.
A tool call is dropped with the whole message that carries it, because providers refuse a call without its result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, convert_to_messages
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from discreet.checkpoint.policy import CheckpointPolicy
from discreet.state.text import storable

ID_SPACE = UUID("5a1c7a52-7f0b-5d7e-9d0e-0f6b8c2f4e11")
ENGINE_ID = re.compile(r"((lc_)?run-{1,2})?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(-\d{1,3})?", re.IGNORECASE)
"""A UUID, alone or as LangChain writes a run's messages: `lc_run--<uuid>-0`."""

TOOL_BLOCKS = {"tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call", "function_call"}
TOOL_KEYS = {"tool_calls", "function_call"}


@dataclass(frozen=True)
class Selection:
    """Which messages of a channel are stored."""

    messages: list[BaseMessage]
    """As they came: `rebuild` them."""
    complete: bool
    """Whether the running turn, from its user's message on, could go on from these alone."""


def select(messages: Sequence[BaseMessage], *, closed: bool) -> Selection:
    """Choose what is stored of `messages`; `closed` says whether the last turn is over."""
    kept: list[BaseMessage] = []
    complete = True
    for position, message in enumerate(messages):
        following = messages[position + 1] if position + 1 < len(messages) else None
        ends_turn = closed if following is None else isinstance(following, HumanMessage)
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
    if not isinstance(message, AIMessage) or not message.text.strip():
        return False
    blocks = [block.get("type") for block in message.content if isinstance(block, dict)]
    return not (
        message.tool_calls
        or message.invalid_tool_calls
        or TOOL_KEYS & message.additional_kwargs.keys()
        or TOOL_BLOCKS.intersection(blocks)
    )


def rebuild(message: BaseMessage, policy: CheckpointPolicy) -> BaseMessage:
    """Return a new message with the id and the redacted text of `message`, and nothing else."""
    if isinstance(message, RemoveMessage):
        # The one id with a meaning of its own: LangGraph's "remove all".
        return RemoveMessage(id=message.id if message.id == REMOVE_ALL_MESSAGES else safe_id(message.id) or "")
    kind = HumanMessage if isinstance(message, HumanMessage) else AIMessage
    return kind(content=policy.redact(storable(str(message.text))), id=safe_id(message.id))


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
