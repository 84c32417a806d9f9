"""What a model gets to see when it extracts memories: the instruction, the user's turns as data, and the schema of its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from discreet.prompts.ids import prompt_id
from discreet.prompts.texts import prompt_text

TURNS_TAG, KNOWN_TAG, FORGOTTEN_TAG = "turns", "known_facts", "forgotten"

VERSION: Final = "extraction/1"
"""Of instruction and schema together; raised when either changes in what it asks for."""

ITEM_TYPES: Final = ("user_fact", "preference", "event", "conversation_insight")
MOMENT_KINDS: Final = ("symptom_change", "emergency", "milestone")
ACTIONS: Final = ("add", "update", "nothing")

_TAGS = f"{TURNS_TAG}|{KNOWN_TAG}|{FORGOTTEN_TAG}"
_DELIMITER = re.compile(rf"<(?=\s*/?\s*(?:{_TAGS})\b)", re.IGNORECASE)


class SaidTurn(NamedTuple):
    """One turn of the user's."""

    at: datetime
    """When it was said, aware."""
    said: str
    """Redacted."""


class ExtractionPrompt(NamedTuple):
    """The two messages of the prompt."""

    instruction: str
    data: str


def render_extraction(
    turns: Sequence[SaidTurn], *, known: Iterable[str] = (), forgotten: Iterable[str] = ()
) -> ExtractionPrompt:
    """Return the prompt that extracts memories of `turns`, which are called t1, t2 and so on in their order.

    Each text is JSON on one line, and without our tags: it can neither leave its block nor speak as another turn.
    """
    lines = [
        _line({"id": f"t{number}", "at": f"{turn.at:%Y-%m-%d %H:%M (%A)}", "said": turn.said})
        for number, turn in enumerate(turns, 1)
    ]
    blocks = [
        (KNOWN_TAG, [_line(text) for text in known]),
        (FORGOTTEN_TAG, [_line(text) for text in forgotten]),
        (TURNS_TAG, lines),
    ]
    written = ("\n".join([f"<{tag}>", *each, f"</{tag}>"]) for tag, each in blocks if each)
    return ExtractionPrompt(prompt_text("extraction"), "\n\n".join(written))


def extraction_prompt_id() -> str:
    """Return the id of the prompt, for provenance."""
    return prompt_id(VERSION, prompt_text("extraction") + json.dumps(EXTRACTION_SCHEMA, sort_keys=True))


def _line(value: object) -> str:
    return _DELIMITER.sub("‹", json.dumps(value, ensure_ascii=False))


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_TEXT = {"type": "string", "description": "One fact in a short sentence."}
_IMPORTANCE = {"type": "integer", "description": "1 (trivial) to 10 (vital)."}
_CONFIDENCE = {"type": "number", "description": "0 to 1."}
_SOURCES = {"type": "array", "items": {"type": "string"}, "description": "Ids of the turns that state it, such as t3."}

EXTRACTION_SCHEMA: Final[dict[str, Any]] = _object(
    items={
        "type": "array",
        "items": _object(
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
        "items": _object(
            text=_TEXT,
            kind={"type": "string", "enum": list(MOMENT_KINDS)},
            importance=_IMPORTANCE,
            confidence=_CONFIDENCE,
            sources=_SOURCES,
        ),
    },
)
"""JSON Schema of the answer, in the subset that all providers' strict structured output takes. Ranges are checked afterwards."""
