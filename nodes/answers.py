"""What the user saw of a turn, as the answers that may be kept of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from discreet.checkpoint.answers import turn_answers
from discreet.nodes.assistant import SILENT
from discreet.nodes.turn import turn_start
from discreet.state.message_text import as_content, spoken_blocks


def answers(
    turn: Sequence[BaseMessage], *, structured: Any = None, told_tools: Collection[str] = (), over: bool = True
) -> list[AIMessage]:
    """Return what the user was shown since their newest message, without reasoning; nothing is redacted.

    See `turn_answers`; a model that said nothing is quoted with a sentence that says so.
    """
    start = turn_start(turn)
    since = turn if start is None else turn[start + 1 :]
    shown = turn_answers(since, structured=structured, told_tools=told_tools, over=over)
    spoken = [message for message in since if isinstance(message, AIMessage)]
    if not shown and spoken and not spoken[-1].tool_calls:
        return [AIMessage(SILENT, id=spoken[-1].id)]
    results = {message.id for message in since if isinstance(message, ToolMessage)}
    return [_said(message, new_id=message.id in results) for message in shown]


def _said(message: AIMessage, *, new_id: bool) -> AIMessage:
    """Return the answer as text; what stands for a tool's result gets an id: streams leave out what they have shown."""
    return AIMessage(as_content(spoken_blocks(message)), id=str(uuid4()) if new_id else message.id)
