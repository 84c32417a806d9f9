"""Make messages of stored text, a thousand at a time.

LangChain's constructor takes 5 µs, which is half the time of loading a long thread; all that it finds out here is the
same each time. So it is asked once, and its answer restored the way pickle would.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

MESSAGE_TYPES: Mapping[str, type[BaseMessage]] = {"human": HumanMessage, "ai": AIMessage}


def _builder(kind: type[BaseMessage]) -> Callable[[str | None, str], BaseMessage]:
    state = kind(content="", id=None).__getstate__()
    fields: dict[Any, Any] = state["__dict__"]
    fresh = [(name, type(value)) for name, value in fields.items() if value in ({}, [])]
    shared = [value for value in fields.values() if value not in ({}, [])]
    if not all(value is None or type(value) in (str, int, bool) for value in shared) or state["__pydantic_private__"]:
        return lambda message_id, text: kind(content=text, id=message_id)  # a LangChain that is yet to come

    def build(message_id: str | None, text: str) -> BaseMessage:
        own = fields.copy()
        own["content"] = text
        own["id"] = message_id
        for name, empty in fresh:
            own[name] = empty()
        message = kind.__new__(kind)
        message.__setstate__(
            {
                "__dict__": own,
                "__pydantic_extra__": {},
                "__pydantic_fields_set__": {"content", "id"},
                "__pydantic_private__": None,
            }
        )
        return message

    return build


BUILDERS: Mapping[str, Callable[[str | None, str], BaseMessage]] = {
    name: _builder(kind) for name, kind in MESSAGE_TYPES.items()
}
"""By kind, makers of a message of an id and a text."""
