"""What a model gets to see when it extracts memories: the instruction, the user's turns as data, and the schema of its answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from discreet.prompts.data import closed_object, data_blocks
from discreet.prompts.texts import prompt_id, prompt_text

AT: Final = "%Y-%m-%d %H:%M (%A)"
"""How times are written: the day of the week helps to resolve "on Friday"."""

TURNS_TAG, KNOWN_TAG, FORGOTTEN_TAG = "turns", "known_facts", "forgotten"

VERSION: Final = "extraction/1"
"""Of instruction and schema together; raised when either changes in what it asks for."""

ITEM_TYPES: Final = ("user_fact", "preference", "event", "conversation_insight")
MOMENT_KINDS: Final = ("symptom_change", "emergency", "milestone")
ACTIONS: Final = ("add", "update", "nothing")


class SaidTurn(NamedTuple):
    """One turn of the user's."""

    at: datetime
    """When it was said, aware."""
    said: str
    """Redacted."""
    id: str = ""
    """What the answer calls it; empty: t and its number, from 1 on."""


class ExtractionPrompt(NamedTuple):
    """The two messages of the prompt."""

    instruction: str
    data: str


def render_extraction(
    turns: Sequence[SaidTurn], *, known: Iterable[str] = (), forgotten: Iterable[str] = ()
) -> ExtractionPrompt:
    """Return the prompt that extracts memories of `turns`."""
    lines = [
        {"id": turn.id or f"t{number}", "at": f"{turn.at:{AT}}", "said": turn.said}
        for number, turn in enumerate(turns, 1)
    ]
    data = data_blocks({KNOWN_TAG: known, FORGOTTEN_TAG: forgotten, TURNS_TAG: lines})
    return ExtractionPrompt(prompt_text("extraction"), data)


def extraction_prompt_id() -> str:
    """Return the id of the prompt, for provenance."""
    return prompt_id(VERSION, prompt_text("extraction") + json.dumps(EXTRACTION_SCHEMA, sort_keys=True))


_TEXT = {"type": "string", "description": "One fact in a short sentence."}
_IMPORTANCE = {"type": "integer", "description": "1 (trivial) to 10 (vital)."}
_CONFIDENCE = {"type": "number", "description": "0 to 1."}
_SOURCES = {"type": "array", "items": {"type": "string"}, "description": "Ids of the turns that state it, such as t3."}

EXTRACTION_SCHEMA: Final[dict[str, Any]] = closed_object(
    items={
        "type": "array",
        "items": closed_object(
            text=_TEXT,
            type={"type": "string", "enum": list(ITEM_TYPES)},
            importance=_IMPORTANCE,
            confidence=_CONFIDENCE,
            sources=_SOURCES,
            action={"type": "string", "enum": list(ACTIONS)},
        ),
    },
    moments={
        "type": "array",
        "items": closed_object(
            text=_TEXT,
            kind={"type": "string", "enum": list(MOMENT_KINDS)},
            importance=_IMPORTANCE,
            confidence=_CONFIDENCE,
            sources=_SOURCES,
        ),
    },
)
"""JSON Schema of the answer, in the subset that all providers' strict structured output takes. Ranges are checked afterwards."""
