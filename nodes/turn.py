"""Find the running turn in a list of messages: the newest user message and all that follows it."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage

from discreet.checkpoint.answers import is_answer
from discreet.redaction import untagged
from discreet.state.message_text import is_persons, text_of


def turn_start(messages: Sequence[BaseMessage]) -> int | None:
    """Return the index of the newest user message, None if there is none."""
    return next((i for i in range(len(messages) - 1, -1, -1) if is_persons(messages[i])), None)


def unanswered(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the running turn, and before it what turns that failed left behind: all that follows the last answer."""
    start = turn_start(messages)
    earlier = messages[: start or 0]
    answered = next((i for i in range(len(earlier) - 1, -1, -1) if is_answer(earlier[i])), -1)
    return list(messages[answered + 1 :])


def turn_text(messages: Sequence[BaseMessage]) -> str:
    """Return the text of the newest user message, empty if there is none."""
    start = turn_start(messages)
    return "" if start is None else text_of(messages[start])


def query_text(messages: Sequence[BaseMessage]) -> str:
    """Return the text of the newest user message with untagged placeholders, as memories have them."""
    return untagged(turn_text(messages))


def tool_rounds(messages: Sequence[BaseMessage]) -> int:
    """Return how often the model asked for tools in the running turn."""
    start = turn_start(messages) or 0
    return sum(1 for m in messages[start:] if isinstance(m, AIMessage) and m.tool_calls)


def wants_tools(messages: Sequence[BaseMessage]) -> bool:
    """Whether the newest message asks for tools."""
    return bool(messages) and isinstance(messages[-1], AIMessage) and bool(messages[-1].tool_calls)
