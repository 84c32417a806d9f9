"""The fields of the settings form, as the JSON schema of `MemorySettings` has them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from pydantic import JsonValue

from discreet.state.memory_settings import MemorySettings, Triggers

_CODE = re.compile(r"`([^`]*)`")
"""As docstrings mark what is to be typed."""

Kind = Literal["switch", "choice", "whole", "number", "text", "long"]
"""`long`: a text of several lines."""

LONG_CHARS = 1_000
"""A text that may be longer than this gets a field of several lines."""

GROUPS = (
    (
        "Extraction",
        (
            "memory_extraction_enabled",
            "memory_extraction_model",
            "memory_extraction_provider",
            "memory_extraction_review",
            "memory_session",
        ),
    ),
    ("When a conversation is worked on", ("memory_trigger", "memory_extraction_interval")),
    ("The same fact twice", ("memory_dedup", "memory_update")),
    ("Recall", ("memory_retrieve", "context_window")),
    ("Embeddings and limits", ("embedding", "max_memories")),
    ("How long things are kept", ("retention",)),
    ("Coming from a history in Redis", ("history_migration",)),
)
"""Headings, and how the names of what stands below them begin."""
OTHERS = "Others"

_KINDS: dict[str, Kind] = {"boolean": "switch", "integer": "whole", "number": "number", "string": "text"}
_FORMS = {r"^[\w.:/@-]+$": "Letters, digits and _ . : / @ - without spaces"}
"""What patterns mean, in words."""
_HINTS = {
    "memory_trigger_apps": 'JSON such as {"shop": {"inactivity_minutes": 5, "session_end": false}}, with any of '
    + ", ".join(Triggers.model_fields)
    + "; 0 or false: never for that reason; empty: as above for all"
}
"""What can be given, by the name of the setting, where its type does not tell."""


@dataclass(frozen=True, kw_only=True)
class SettingField:
    """One setting, as a form shows it."""

    name: str
    description: str
    kind: Kind
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    hint: str
    """What can be given, in words."""

    @property
    def label(self) -> str:
        """Its name as words."""
        return self.name.replace("_", " ").capitalize()

    def show(self, value: JsonValue) -> str:
        """Return `value` as the form has it: nothing where there is none."""
        if value is None:
            return ""
        if isinstance(value, bool):
            return "on" if value else "off"
        return str(value)

    def parse(self, typed: str) -> JsonValue:
        """Return what was typed as a value; its bounds are not checked.

        Raises:
            ValueError: It is none of this kind.
        """
        if self.kind == "whole":
            return int(typed)
        if self.kind == "number":
            return float(typed.replace(",", "."))
        if self.kind == "switch":
            return {"on": True, "off": False}.get(typed) if typed in ("on", "off") else _no_value()
        return typed


@cache
def setting_fields() -> dict[str, SettingField]:
    """Return all fields by name, in their order."""
    properties: dict[str, dict[str, Any]] = MemorySettings.model_json_schema()["properties"]
    return {name: _field(name, schema) for name, schema in properties.items()}


def in_groups(fields: dict[str, SettingField]) -> list[tuple[str, list[str]]]:
    """Return headings with the names below them, each name once."""
    grouped = [(title, [name for name in fields if name.startswith(starts)]) for title, starts in GROUPS]
    seen = {name for _, names in grouped for name in names}
    others = [name for name in fields if name not in seen]
    return [*grouped, (OTHERS, others)] if others else grouped


def _field(name: str, schema: dict[str, Any]) -> SettingField:
    said: dict[str, Any] = next((each for each in schema.get("anyOf", ()) if each["type"] != "null"), {})  # may be none
    schema = {**schema, **said}
    choices = ("on", "off") if schema["type"] == "boolean" else tuple(schema.get("enum", ()))
    kind = "choice" if "enum" in schema else _KINDS[schema["type"]]
    if kind == "text" and schema.get("maxLength", 0) > LONG_CHARS:
        kind = "long"
    return SettingField(
        name=name,
        description=_CODE.sub(r"“\1”", schema.get("description", "")),
        kind=kind,
        choices=choices,
        least=schema.get("minimum"),
        most=schema.get("maximum"),
        hint=_HINTS.get(name) or _hint(kind, choices, schema),
    )


def _hint(kind: Kind, choices: tuple[str, ...], schema: dict[str, Any]) -> str:
    if choices:
        return f"{', '.join(choices[:-1])} or {choices[-1]}"
    if kind in {"text", "long"}:
        form = _FORMS.get(schema.get("pattern", ""), "Text")
        return f"{form}; {schema.get('minLength', 0)} to {schema.get('maxLength', 'any number of')} characters"
    bounds = f" from {schema['minimum']:,} to {schema['maximum']:,}" if {"minimum", "maximum"} <= schema.keys() else ""
    return ("A whole number" if kind == "whole" else "A number") + bounds


def _no_value() -> JsonValue:
    raise ValueError("neither on nor off")
