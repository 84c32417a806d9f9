"""The messages of LangChain and the commands of LangGraph, taken apart and put together."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.types import Command, Interrupt, Send
from pydantic import ValidationError

KINDS: tuple[type[BaseMessage], ...] = (
    HumanMessage,
    AIMessage,
    SystemMessage,
    ToolMessage,
    ChatMessage,
    FunctionMessage,
    RemoveMessage,
)
"""A subclass, such as a chunk, becomes its kind. The pieces of tool calls that a chunk has can't be redacted one by one."""

Visit = Callable[[Any, str | None], Any]
"""Returns the redacted copy of a value that stands under a name."""


def rebuilt(value: Any, visit: Visit) -> Any:
    """Return a redacted copy of a message or a command of the same kind; None for anything else, and where none can be made."""
    if isinstance(value, BaseMessage):
        return _message(value, visit)
    if isinstance(value, Send):
        return Send(visit(value.node, None), visit(value.arg, None), timeout=value.timeout)
    if isinstance(value, Command):
        return Command(
            graph=visit(value.graph, None),
            update=visit(value.update, None),
            resume=visit(value.resume, None),
            goto=visit(value.goto, None),
        )
    if isinstance(value, Interrupt):
        return Interrupt(visit(value.value, None), id=visit(value.id, None))
    return None


def _message(message: BaseMessage, visit: Visit) -> BaseMessage | None:
    kind = next((kind for kind in KINDS if isinstance(message, kind)), None)
    if kind is None:
        return None
    given: Mapping[str, Any] = {name: getattr(message, name) for name in kind.model_fields if name != "type"}
    fields = {name: visit(value, None if name == "content" else name) for name, value in given.items()}
    if kind is RemoveMessage:
        fields = {"id": fields["id"]}
    with contextlib.suppress(ValidationError, ValueError):  # such as arguments that are no longer what they have to be
        return kind(**fields)
    return None
