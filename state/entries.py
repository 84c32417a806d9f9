"""An entry as files and requests of other programs name its fields, and the record that it becomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from discreet.state.records import MemoryType

RECORD_FIELDS: Final[Mapping[str, str]] = {
    "short_answer": "text",
    "session_id": "thread_id",
    "timestamp": "created_at",
    "user_feedback": "feedback",
}
"""Fields of an entry that a record has under another name. All others have the same."""


def type_of_entry(named: MemoryType | None, reasoning: str | None) -> MemoryType:
    """Return the type of an entry: the one that it names, else by whether it says how it was arrived at."""
    return named or ("conversation_insight" if reasoning is None else "reasoning")


def feedback_of_entry(given: Any) -> list[Any]:
    """Return what was said of an entry, which may be nothing, one thing or several, as a list."""
    return [] if given is None else list(given) if isinstance(given, (list, tuple)) else [given]


def record_fields(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry's fields by their names in a record."""
    return {RECORD_FIELDS.get(name, name): value for name, value in entry.items()}
