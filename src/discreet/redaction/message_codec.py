"""The messages of LangChain and the commands of LangGraph, taken apart and put together."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping
from enum import Enum
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
from pydantic import BaseModel, ValidationError

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


def same_kind(value: Any, visit: Visit) -> Any:
    """Return a redacted copy of a pydantic model or dataclass of the same kind; None for anything else.

    For `redact_object(rebuild=…)`. Fields are not checked, since a placeholder may be no value that they take; what else
    the object had, such as private attributes, is gone. One in which nothing was found is returned as it is.
    """
    if isinstance(value, BaseModel) and not isinstance(value, BaseMessage):
        given = dict(value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, (type, Send, Command, Interrupt)):
        given = {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    else:
        return None
    fields = {name: item if isinstance(item, Enum) else visit(item, name) for name, item in given.items()}
    if fields == given:
        return value
    if isinstance(value, BaseModel):
        copy: Any = type(value).model_construct()
        extra = {name: fields.pop(name) for name in value.__pydantic_extra__ or {}}
        object.__setattr__(copy, "__dict__", fields)
        object.__setattr__(copy, "__pydantic_extra__", extra if value.__pydantic_extra__ is not None else None)
        object.__setattr__(copy, "__pydantic_fields_set__", value.model_fields_set)
        return copy
    copy = object.__new__(type(value))
    for name, item in fields.items():
        object.__setattr__(copy, name, item)  # it may be frozen
    return copy


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
