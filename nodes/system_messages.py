"""System messages of a caller: each holds for the turn that it came with. LangGraph keeps those of a turn that failed."""

from __future__ import annotations

from typing import Final

from langchain_core.messages import BaseMessage, SystemMessage

from discreet.checkpoint.message_ids import safe_id

TURN: Final = "turn"
"""Key of the response metadata of a system message in the state: which of the user's messages it came with."""


def with_turn(message: BaseMessage, message_id: str) -> BaseMessage:
    """Return `message`; a system message with a note that it holds for the turn of the user's message of that id."""
    if not isinstance(message, SystemMessage):
        return message
    return message.model_copy(update={"response_metadata": {**message.response_metadata, TURN: safe_id(message_id)}})


def is_past(message: BaseMessage, message_id: str | None) -> bool:
    """Whether `message` is a system message that came with another of the user's messages than the one of that id."""
    if not isinstance(message, SystemMessage):
        return False
    turn = message.response_metadata.get(TURN)
    return turn is not None and turn != safe_id(message_id)
