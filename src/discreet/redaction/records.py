"""Redact what a person may have typed, in each kind of record. Ids and names of models, apps and threads stay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from discreet.errors import InvalidRecordError
from discreet.ports import TextRedactor
from discreet.redaction.walker import redact_object
from discreet.state.background import SessionSummary
from discreet.state.media import MediaMeta
from discreet.state.records import MemoryFilters, MemoryRecord, TurnRecord, checked_feedback


def redacted_record(record: MemoryRecord, redactor: TextRedactor) -> MemoryRecord:
    """Return `record` with its text, reasoning, tags and feedback redacted."""
    return record.model_copy(
        update={
            "text": redactor.redact(record.text),
            "reasoning": None if record.reasoning is None else redactor.redact(record.reasoning),
            "tags": _redacted_tags(record.tags, redactor),
            "feedback": redact_object(record.feedback, redactor),
        }
    )


def text_chars(record: MemoryRecord) -> int:
    """Return how many characters `redacted_record` looks at."""
    said = [record.text, record.reasoning or "", *record.tags]
    return sum(map(len, said)) + len(str(record.feedback or ""))


def redacted_feedback(feedback: Mapping[str, Any], redactor: TextRedactor) -> dict[str, Any]:
    """Return one entry of feedback redacted.

    Raises:
        InvalidRecordError: It is no JSON.
    """
    try:
        redacted: dict[str, Any] = redact_object(checked_feedback(dict(feedback)), redactor)
    except ValueError as error:
        raise InvalidRecordError(f"The feedback {error}.") from None
    return redacted


def redacted_filters(filters: MemoryFilters, redactor: TextRedactor) -> MemoryFilters:
    """Return `filters` with tags as they are stored."""
    if filters.tags is None:
        return filters
    return filters.model_copy(update={"tags": _redacted_tags(filters.tags, redactor)})


def redacted_turn(turn: TurnRecord, redactor: TextRedactor) -> TurnRecord:
    """Return `turn` with its texts redacted, and what its caller says of media. Numbers and the digest stay."""
    return turn.model_copy(
        update={
            "input_text": redactor.redact(turn.input_text),
            "output_text": redactor.redact(turn.output_text),
            "intent": None if turn.intent is None else redactor.redact(turn.intent),
            "media": [_redacted_media(media, redactor) for media in turn.media],
        }
    )


def turn_chars(turn: TurnRecord) -> int:
    """Return how many characters `redacted_turn` looks at."""
    return sum(map(len, [turn.input_text, turn.output_text, turn.intent or "", *map(str, turn.media)]))


def redacted_summary(summary: SessionSummary, redactor: TextRedactor) -> SessionSummary:
    """Return `summary` with all its texts redacted."""
    return summary.model_copy(
        update={
            "summary": redactor.redact(summary.summary),
            "topics": _redacted_tags(summary.topics, redactor),
            "key_facts": _redacted_tags(summary.key_facts, redactor),
        }
    )


def _redacted_media(media: MediaMeta, redactor: TextRedactor) -> MediaMeta:
    redacted = media.copy()
    if "mime" in media:
        redacted["mime"] = redactor.redact(media["mime"])
    if "language" in media:
        redacted["language"] = redactor.redact(media["language"])
    if "imageType" in media:
        redacted["imageType"] = redactor.redact(media["imageType"])
    if "tags" in media:
        redacted["tags"] = _redacted_tags(media["tags"], redactor)
    return redacted


def _redacted_tags(tags: Iterable[str], redactor: TextRedactor) -> list[str]:
    return list(dict.fromkeys(map(redactor.redact, tags)))
