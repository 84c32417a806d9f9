"""Messages in what a session of OpenAI's Agents SDK stores: items of the Responses API, and of Chat Completions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from discreet.importing.sources.reading.rows import UnreadableRowError
from discreet.importing.sources.reading.values import moment, parsed
from discreet.state.message_text import joined

_SPEAKERS: Final = ("user", "assistant")


@dataclass(frozen=True)
class AgentMessage:
    """What one of the two said."""

    role: str
    """`user` or `assistant`."""
    text: str
    """All texts of the message."""
    at: datetime
    """When it was stored."""


def message_of(data: Any, created_at: Any) -> AgentMessage | None:
    """Return who said what in an item, and when; None for what is no message of the two: tools, reasoning, instructions.

    Raises:
        UnreadableRowError: It is no item.
    """
    item = parsed(data, "item")
    if not isinstance(item, Mapping):
        raise UnreadableRowError("The item is no object.")
    if "__enc__" in item:
        raise UnreadableRowError(
            "The item is sealed by EncryptedSession. Copy the session into a plain one and import that."
        )
    role = item.get("role")
    if role not in _SPEAKERS or item.get("type", "message") != "message":
        return None
    text = joined(_texts(item.get("content")))
    return AgentMessage(role, text, moment(created_at, "time of creation")) if text.strip() else None


def _texts(content: Any) -> Iterator[str]:
    """Yield the texts of a content: a text, or blocks with `text`, or with `refusal`. Images and files have none."""
    if isinstance(content, str):
        yield content
        return
    if content is None:  # a message that only calls tools
        return
    if not isinstance(content, list):
        raise UnreadableRowError("The content is neither a text nor a list.")
    for block in content:
        if isinstance(block, Mapping):
            text = block.get("text", block.get("refusal"))
            if isinstance(text, str) and text.strip():
                yield text
