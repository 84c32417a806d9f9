"""Make messages of stored text, a thousand at a time.

LangChain's constructor takes 5 µs, which is half the time of loading a long thread; all that it finds out here is the
same each time. So it is asked once, and its answer restored the way pickle would.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from pydantic import BaseModel

from discreet.checkpoint.messages import SUMMARY, made

MESSAGE_TYPES: Mapping[str, type[BaseMessage]] = {"human": HumanMessage, "ai": AIMessage}

STATE = {"__dict__", "__pydantic_extra__", "__pydantic_fields_set__", "__pydantic_private__"}
"""What pydantic's `__setstate__` restores, one by one. Calling it takes twice as long."""


def _builder(kind: type[BaseMessage]) -> Callable[[str | None, str], BaseMessage]:
    state = kind(content="", id=None).__getstate__()
    fields: dict[Any, Any] = state["__dict__"]
    fresh = [(name, type(value)) for name, value in fields.items() if value in ({}, [])]
    shared = [value for value in fields.values() if value not in ({}, [])]
    plain = all(value is None or type(value) in (str, int, bool) for value in shared)
    if not plain or state.keys() != STATE or state["__pydantic_private__"] or state["__pydantic_extra__"]:
        return lambda message_id, text: kind(content=text, id=message_id)  # a LangChain that is yet to come
    new: Callable[[type[BaseMessage]], BaseMessage] = kind.__new__
    restore = object.__setattr__
    restore_extra, restore_fields_set, restore_private = (
        BaseModel.__dict__[f"__pydantic_{name}__"].__set__ for name in ("extra", "fields_set", "private")
    )

    def build(message_id: str | None, text: str) -> BaseMessage:
        own = fields.copy()
        own["content"] = text
        own["id"] = message_id
        for name, empty in fresh:
            own[name] = empty()
        message = new(kind)
        restore(message, "__dict__", own)
        restore_extra(message, {})
        restore_fields_set(message, {"content", "id"})
        restore_private(message, None)
        return message

    return build


BUILDERS: Mapping[str, Callable[[str | None, str], BaseMessage]] = {
    **{name: _builder(kind) for name, kind in MESSAGE_TYPES.items()},
    SUMMARY: partial(made, SUMMARY),
}
"""By kind, makers of a message of an id and a text."""
