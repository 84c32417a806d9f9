"""Tools that the user calls by name, since nothing here can choose one: `/lookup_order order_id=A17`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

ToolSchemas = Mapping[str, Mapping[str, Any]]
"""The bound tools: name -> JSON schema of the arguments."""

_COMMAND = re.compile(r"\s*/([A-Za-z_][\w-]*)(?:\s+(.*))?\s*", re.DOTALL)

_READERS: Mapping[str, Callable[[str], Any]] = {
    "integer": int,
    "number": float,
    "boolean": lambda value: value.lower() in ("true", "yes", "1"),
    "array": lambda value: [part.strip() for part in value.split(",") if part.strip()],
}


@dataclass(frozen=True)
class Command:
    """A tool to call, and what still stands in the way of calling it."""

    tool: str
    arguments: Mapping[str, Any]
    known: bool = True
    missing: tuple[str, ...] = ()


def find_command(text: str, tools: ToolSchemas, *, besides: frozenset[str]) -> Command | None:
    """Return the tool call that `text` spells out.

    That is `/name key=value …`, or a sentence with the exact name of a tool that needs no arguments. The tools
    `besides` are called by the rules and only answer to the first form.
    """
    if command := _COMMAND.fullmatch(text):
        return _explicit(command[1], command[2] or "", tools)
    for name, schema in tools.items():
        if name not in besides and not schema.get("required") and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text):
            return Command(name, {})
    return None


def _explicit(name: str, rest: str, tools: ToolSchemas) -> Command:
    if name not in tools:
        return Command(name, {}, known=False)
    properties = tools[name].get("properties", {})
    pairs = (word.partition("=") for word in _words(rest))
    arguments = {key: _value(value, properties.get(key, {})) for key, equals, value in pairs if equals}
    missing = tuple(key for key in tools[name].get("required", ()) if key not in arguments)
    return Command(name, arguments, missing=missing)


def _words(rest: str) -> list[str]:
    try:
        return shlex.split(rest)
    except ValueError:  # a lone quotation mark, as in o'clock
        return rest.split()


def _value(value: str, schema: Mapping[str, Any]) -> Any:
    """Return `value` as the type that the schema asks for; as it stands where it can't be read as that."""
    try:
        return _READERS.get(schema.get("type", "string"), str)(value)
    except ValueError:
        return value
