"""Channels of well-known packages that hold numbers and names of the program's own, and no person's words: they are stored by default.

A limit of calls a thread counts from turn to turn, and a swarm goes on with the agent that spoke last. What else such packages keep, todos
and files say, is text, which a policy names if it is to outlive the turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from discreet.checkpoint.message_ids import SAFE_ID

MOST_COUNTS: Final = 100
"""Of a channel that counts by name."""

Redact = Callable[[str], str]


def _is_count(value: Any, _redact: Redact) -> bool:
    return type(value) is int


def _is_name(value: Any, redact: Redact) -> bool:
    return value is None or (type(value) is str and bool(SAFE_ID.fullmatch(value)) and redact(value) == value)


def _are_counts(value: Any, redact: Redact) -> bool:
    return (
        type(value) is dict
        and len(value) <= MOST_COUNTS
        and all(type(count) is int and _is_name(name, redact) for name, count in value.items())
    )


KNOWN: Final[Mapping[str, Callable[[Any, Redact], bool]]] = {
    "thread_model_call_count": _is_count,  # langchain: ModelCallLimitMiddleware
    "thread_tool_call_count": _are_counts,  # langchain: ToolCallLimitMiddleware, by the tool's name
    "active_agent": _is_name,  # langgraph-swarm
}
"""By channel, what its value is to be. A value that is anything else is treated as that of any channel."""


def is_known(channel: str, value: Any, redact: Redact) -> bool:
    """Return whether `value` is what a well-known package keeps in `channel`."""
    looks_right = KNOWN.get(channel)
    return looks_right is not None and looks_right(value, redact)
