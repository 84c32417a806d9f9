"""Redact what a person may have typed, in each kind of record. Ids and names of models, apps and threads stay."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from discreet.ports import TextRedactor
from discreet.state.records import MemoryFilters, MemoryRecord, TurnRecord


def redacted_record(record: MemoryRecord, redactor: TextRedactor) -> MemoryRecord:
    """Return `record` with its text, tags and feedback redacted."""
    return record.model_copy(
        update={
            "text": redactor.redact(record.text),
            "tags": _redacted_tags(record.tags, redactor),
            "feedback": [_redacted_value(entry, redactor) for entry in record.feedback],
        }
    )


def redacted_filters(filters: MemoryFilters, redactor: TextRedactor) -> MemoryFilters:
    """Return `filters` with tags as they are stored."""
    if filters.tags is None:
        return filters
    return filters.model_copy(update={"tags": _redacted_tags(filters.tags, redactor)})


def redacted_turn(turn: TurnRecord, redactor: TextRedactor) -> TurnRecord:
    """Return `turn` with both its texts redacted."""
    return turn.model_copy(
        update={
            "input_text": redactor.redact(turn.input_text),
            "output_text": redactor.redact(turn.output_text),
        }
    )


def _redacted_tags(tags: Iterable[str], redactor: TextRedactor) -> list[str]:
    return list(dict.fromkeys(map(redactor.redact, tags)))


def _redacted_value(value: Any, redactor: TextRedactor) -> Any:
    match value:
        case str():
            return redactor.redact(value)
        case dict():
            return {key: _redacted_value(item, redactor) for key, item in value.items()}
        case list() | tuple():
            return [_redacted_value(item, redactor) for item in value]
        case _:
            return value
