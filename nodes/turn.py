"""Find the running turn in a list of messages: the newest user message and all that follows it."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from discreet.checkpoint.answers import is_answer
from discreet.checkpoint.message_ids import safe_id
from discreet.redaction import untagged
from discreet.state.conversation import Request
from discreet.state.message_text import is_persons, is_summary, text_of


def turn_start(messages: Sequence[BaseMessage]) -> int | None:
    """Return the index of the newest user message, None if there is none."""
    return next((i for i in range(len(messages) - 1, -1, -1) if is_persons(messages[i])), None)


def unanswered(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the running turn, and before it what turns that failed left behind: all that follows the last answer."""
    start = turn_start(messages)
    earlier = messages[: start or 0]
    answered = next((i for i in range(len(earlier) - 1, -1, -1) if is_answer(earlier[i])), -1)
    return list(messages[answered + 1 :])


def as_users(messages: Sequence[BaseMessage], request: Request | None) -> list[BaseMessage]:
    """Return `messages` with those in the running turn alone as the user's that they had sent when it began.

    Middleware, tools and nodes write human messages too: these are left out. One that a summary has taken the place of stands behind that again.
    """
    if request is None or "said_ids" not in request:
        return list(messages)
    sent, newest = set(request["said_ids"]), safe_id(request["message_id"])
    at = next((i for i, message in enumerate(messages) if is_persons(message) and safe_id(message.id) == newest), None)
    if at is None:
        at = int(bool(messages) and is_summary(messages[0]))
        messages = [*messages[:at], HumanMessage(request["said"], id=request["message_id"]), *messages[at:]]
    return [m for i, m in enumerate(messages) if i <= at or not is_persons(m) or safe_id(m.id) in sent]


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
