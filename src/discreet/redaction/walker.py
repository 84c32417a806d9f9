"""Redact objects of any shape: what is known is rebuilt, what is not known does not pass."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from pydantic import BaseModel

from discreet.ports import TextRedactor
from discreet.redaction.placeholders import BYTES, UNKNOWN, issue

MAX_DEPTH = 50
"""No JSON that people or models write is nested deeper; what is, was made to exhaust the stack."""

MAX_INTEGER_BITS = 10_000
"""About 3,000 digits. Beyond 4,300 Python refuses to write an integer out (`sys.set_int_max_str_digits`)."""

KINDS: dict[type[BaseMessage], tuple[str, ...]] = {
    HumanMessage: (),
    AIMessage: (),
    SystemMessage: (),
    ToolMessage: ("tool_call_id",),
    ChatMessage: ("role",),
    RemoveMessage: (),
}
"""Kind of message -> what it can't exist without, beside text. A subclass, such as a chunk, becomes its kind."""


def redact_object(value: Any, redactor: TextRedactor) -> Any:
    """Return a copy of `value` in which all text went through `redactor`, dict keys included.

    Numbers that read as a phone or card number become its placeholder. Dataclasses and pydantic models become dicts of
    their fields. Messages keep their kind, id and text; tool calls, other content blocks, artifacts and metadata are
    dropped. Everything else fails closed: bytes become `<BYTES>`; other types, cycles, and what lies more than
    `MAX_DEPTH` levels deep become `<UNKNOWN>`.

    Example:
        >>> from discreet.redaction import Redactor
        >>> redact_object({"to": ["ann@example.com", 7], "card": 4111111111111111}, Redactor())
        {'to': ['<EMAIL>', 7], 'card': '<CARD>'}
    """
    return _Walk(redactor).visit(value)


class _Walk:
    """One traversal. Containers seen before are not walked again, so shared ones can't multiply the work."""

    def __init__(self, redactor: TextRedactor) -> None:
        self._redactor = redactor
        self._open: set[int] = set()
        self._done: dict[int, tuple[Any, Any]] = {}
        """Id of a container -> itself, kept so that the id stays its own, and its copy."""

    def visit(self, value: Any) -> Any:
        if value is None or isinstance(value, (bool, date, time, timedelta, UUID)):
            return value
        if isinstance(value, str):
            return self._redactor.redact(str.__str__(value))
        if isinstance(value, (int, float, Decimal)):
            return self._number(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return issue(BYTES)
        return self._container(value)

    def _number(self, value: float | Decimal) -> Any:
        """Return the number, or a placeholder if it is a sensitive one when written out."""
        if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
            return issue(UNKNOWN)
        written = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
        redacted = self._redactor.redact(written)
        return value if redacted == written else redacted

    def _container(self, value: Any) -> Any:
        key = id(value)
        if key in self._done:
            return self._done[key][1]
        if key in self._open or len(self._open) >= MAX_DEPTH:
            return issue(UNKNOWN)
        self._open.add(key)
        copy = self._rebuild(value)
        self._open.remove(key)
        self._done[key] = (value, copy)
        return copy

    def _rebuild(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self._mapping(value)
        if isinstance(value, (list, tuple)):
            items = [self.visit(item) for item in value]
            return items if isinstance(value, list) else tuple(items)
        if isinstance(value, BaseMessage):
            return self._message(value)
        fields = _field_names(value)
        return (
            issue(UNKNOWN) if fields is None else self._mapping({name: getattr(value, name, None) for name in fields})
        )

    def _mapping(self, value: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return the dict with redacted keys. Keys that became equal are numbered, so that no entry is lost."""
        copy: dict[Any, Any] = {}
        for key, item in value.items():
            unique = redacted = self._key(key)
            number = 1
            while unique in copy:
                number += 1
                unique = f"{redacted}#{number}"
            copy[unique] = self.visit(item)
        return copy

    def _key(self, key: Any) -> Any:
        """Return a key redacted. Only scalars are known to stay hashable and harmless."""
        known = (str, int, float, Decimal, date, time, timedelta, UUID, bytes)
        return self.visit(key) if key is None or isinstance(key, known) else issue(UNKNOWN)

    def _message(self, message: BaseMessage) -> Any:
        """Return a message of the same kind with its id and text, and nothing else that could hold data."""
        kind = next((kind for kind in KINDS if isinstance(message, kind)), None)
        if kind is None or (kind is RemoveMessage and message.id is None):
            return issue(UNKNOWN)
        kept: dict[str, Any] = {name: getattr(message, name) for name in ("id", *KINDS[kind])}
        kept = {name: None if text is None else self._redactor.redact(text) for name, text in kept.items()}
        return kind(content=self._content(message.content), **kept)

    def _content(self, content: str | Iterable[Any]) -> str | list[str | dict[Any, Any]]:
        """Return a message's text; of a list of content blocks only its text blocks."""
        if isinstance(content, str):
            return self._redactor.redact(content)
        kept: list[str | dict[Any, Any]] = []
        for block in content:
            if isinstance(block, str):
                kept.append(self._redactor.redact(block))
            elif isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str):
                kept.append({"type": "text", "text": self._redactor.redact(block["text"])})
        return kept


def _field_names(value: Any) -> list[str] | None:
    """Return the names of the fields of a pydantic model or dataclass; None for anything else."""
    if isinstance(value, BaseModel):
        return [*type(value).model_fields, *(value.__pydantic_extra__ or {})]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [field.name for field in dataclasses.fields(value)]
    return None
