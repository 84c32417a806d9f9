"""Put values back into objects of any shape, and leave all else as it is."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from langchain_core.messages import BaseMessage
from pydantic import BaseModel, ValidationError

from discreet.redaction.placeholders import TAGGED


def restore(value: Any, values: Mapping[str, str]) -> Any:
    """Return `value` with the values of its tagged placeholders put back in all its texts; those not in `values` stay.

    What has none is returned as the same object. Containers, messages, pydantic models and dataclasses that have some are
    copied, of their kind; a model is checked again, so that a number is a number again. In a text that is JSON, values
    are written as JSON writes them.

    Example:
        >>> restore({"to": ["<EMAIL:7K2QX3MD>"], "n": 1}, {"<EMAIL:7K2QX3MD>": "ann@example.com"})
        {'to': ['ann@example.com'], 'n': 1}
    """
    return Restoration(values).visit(value) if values else value


class Restoration:
    """One traversal. `missing` has the placeholders that it met and knew no value of."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values
        self.missing: set[str] = set()
        self._open: set[int] = set()

    def visit(self, value: Any) -> Any:
        """Return `value` itself, or its copy if something changed in it."""
        if isinstance(value, str):
            return self._text(value) if "<" in value else value
        if id(value) in self._open:
            return value
        self._open.add(id(value))
        try:
            return self._container(value)
        finally:
            self._open.discard(id(value))

    def _container(self, value: Any) -> Any:
        if isinstance(value, dict):
            given = {self.visit(key): self.visit(item) for key, item in value.items()}
            same = all(key in value and value[key] is item for key, item in given.items())
            return value if same else given
        if isinstance(value, (list, tuple)):
            items = [self.visit(item) for item in value]
            if all(new is old for new, old in zip(items, value, strict=True)):
                return value
            return (
                items if isinstance(value, list) else type(value)(*items) if hasattr(value, "_fields") else tuple(items)
            )
        if isinstance(value, BaseModel):
            return self._model(value)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._dataclass(value)
        return value

    def _model(self, value: BaseModel) -> BaseModel:
        changed = self._changed(dict(value))
        if not changed:
            return value
        if not isinstance(value, BaseMessage):
            with suppress(ValidationError):  # such as a number of which a placeholder is left
                return type(value).model_validate({**dict(value), **changed}, by_name=True)
        return value.model_copy(update=changed)

    def _dataclass(self, value: Any) -> Any:
        changed = self._changed({field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)})
        if not changed:
            return value
        other = copy.copy(value)
        for name, item in changed.items():
            object.__setattr__(other, name, item)  # it may be frozen
        return other

    def _changed(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        given = {name: self.visit(item) for name, item in fields.items()}
        return {name: item for name, item in given.items() if item is not fields[name]}

    def _text(self, text: str) -> str:
        found = {match[0] for match in TAGGED.finditer(text)}
        self.missing |= found - self._values.keys()
        if found <= self.missing:
            return text
        write = _as_json if _is_json(text) else str
        return TAGGED.sub(lambda match: write(self._values.get(match[0], match[0])), text)


def _is_json(text: str) -> bool:
    if not text.lstrip().startswith(("{", "[")):
        return False
    with suppress(ValueError, RecursionError):
        json.loads(text)
        return True
    return False


def _as_json(value: str) -> str:
    """Return a value as it stands in a JSON string."""
    return json.dumps(value, ensure_ascii=False)[1:-1]
