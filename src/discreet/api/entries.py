"""Entries as requests and answers have them, and as they are stored. The field names are a contract with those who call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID, uuid4

from pydantic import BaseModel, ConfigDict, Field, JsonValue, Strict, model_serializer

from discreet.api.ids import check_ids
from discreet.api.users import User
from discreet.api.values import MAX_COMMENT_CHARS, Id, Label, Labels, Moment, Said, UserName, Words
from discreet.ports import TextRedactor
from discreet.state import records
from discreet.state.described import describe_fields
from discreet.state.records import (
    MAX_FEEDBACK,
    MAX_MEMORY_CHARS,
    MAX_REASONING_CHARS,
    MemoryRecord,
    MemoryType,
    feedback_of_entry,
    record_fields,
    type_of_entry,
)

EntryType = Literal[
    "user_fact",
    "preference",
    "event",
    "conversation_insight",
    "conversation_summary",
    "important_moment",
    "reasoning",
]
"""What a caller may store. Turns of conversations come from the graph alone."""


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra=describe_fields)


class Provenance(_Form):
    """Where an entry comes from. What is not known is left out."""

    model: Annotated[Words, Field(max_length=200)] | None = None
    """Name of the model."""
    model_version: Annotated[Words, Field(max_length=200)] | None = None
    """Its version."""
    prompt: Annotated[Words, Field(max_length=4_000)] | None = None
    """Id of the prompt; a text is redacted."""
    source: Annotated[Words, Field(max_length=200)] | None = None
    """Who or what wrote the entry."""

    @model_serializer(mode="wrap")
    def _known(self, serialise: Callable[[Any], dict[str, Any]]):  # type: ignore[no-untyped-def]  # noqa: ANN202  # with a return type, OpenAPI would show that
        return {name: value for name, value in serialise(self).items() if value is not None}


class FeedbackItem(_Form):
    """What somebody thinks of an entry: a rating, a comment, or both."""

    rating: (
        Annotated[int, Strict(), Field(ge=-100, le=100)] | Annotated[float, Strict(), Field(ge=-100, le=100)] | None
    ) = None
    """Higher is better; the scale is yours, within -100 to 100."""
    comment: Annotated[Words, Field(max_length=MAX_COMMENT_CHARS)] | None = None
    """In words; redacted before it is stored."""
    timestamp: Moment | None = None
    """When it was given."""

    def stored(self) -> dict[str, Any]:
        """Return it as a record has it."""
        return self.model_dump(mode="json") | {"timestamp": _written(self.timestamp or datetime.now(UTC))}


class NewEntry(_Form):
    """An entry to be stored."""

    entry_id: UUID | None = None
    """Unique id; made if you give none."""
    request_id: Id | None = None
    """The request that it belongs to; proposals to one request have the same."""
    session_id: Id | None = None
    """The conversation that it belongs to."""
    user_id: UserName | None = None
    """Whose it is: you, if you leave it out. Kept as an opaque identity."""
    agent_id: Id | None = None
    """The agent that wrote it."""
    timestamp: Moment | None = None
    """When it was written, with a time zone, from 1900 to 2199; now if you leave it out."""
    short_answer: Annotated[Said, Field(min_length=1, max_length=MAX_MEMORY_CHARS)]
    """In short: what is searched for. Redacted before it is stored."""
    reasoning: Annotated[Words, Field(max_length=MAX_REASONING_CHARS)] | None = None
    """How it was arrived at. Redacted before it is stored, and not searched."""
    confidence: Annotated[float, Strict(), Field(ge=0, le=1)] = 1.0
    """How sure its writer is."""
    tags: Labels = []
    """Free labels to filter by."""
    conflict_flags: Labels = []
    """What it contradicts."""
    loop_flag: Annotated[bool, Strict()] = False
    """Whether its writer went round in circles."""
    provenance: Provenance = Provenance()
    """Where it comes from."""
    user_feedback: FeedbackItem | Annotated[list[FeedbackItem], Field(max_length=MAX_FEEDBACK)] | None = None
    """What has been said of it already, oldest first."""
    type: EntryType | None = None
    """Kind of memory; `reasoning` if there is one, else `conversation_insight`. An entry that names its type and no id is
    merged with what is known already; all others are kept as they are."""
    app_name: Id = "default"
    """The application that it belongs to. Entries of one are not seen by another."""

    @property
    def dedup(self) -> bool:
        """Whether it may be merged with what is known already."""
        return self.entry_id is None and self.type is not None and self.reasoning is None

    @property
    def chars(self) -> int:
        """How many characters it has, which `record` looks at."""
        return len(self.model_dump_json())

    def record(self, redactor: TextRedactor, entry_id: UUID | None = None) -> MemoryRecord:
        """Return what is to be stored; of what the storage doesn't redact, redacted. May take long.

        Raises:
            InvalidRequestError: An id holds a sensitive value.
        """
        names = ("request_id", "session_id", "agent_id", "app_name")
        check_ids({name: getattr(self, name) for name in names})
        feedback: list[FeedbackItem] = feedback_of_entry(self.user_feedback)
        provenance: dict[str, Any] = {
            name: redactor.redact(text) for name, text in self.provenance.model_dump().items()
        }
        given = record_fields({name: getattr(self, name) for name in _GIVEN})
        return MemoryRecord(
            **given
            | {
                "entry_id": self.entry_id or entry_id or uuid4(),
                "type": type_of_entry(self.type, self.reasoning),
                "created_at": self.timestamp or datetime.now(UTC),
                "conflict_flags": [_flag(flag, redactor) for flag in self.conflict_flags],
                "provenance": records.Provenance(**provenance),
                "feedback": [item.stored() for item in feedback],
            }
        )


class Entry(BaseModel):
    """An entry as it is stored."""

    model_config = ConfigDict(json_schema_extra=describe_fields)

    entry_id: UUID
    """Unique id."""
    request_id: str | None
    """The request that it belongs to."""
    session_id: str | None
    """The conversation that it belongs to."""
    user_id: str
    """Whose it is, as you know them."""
    agent_id: str | None
    """The agent that wrote it."""
    timestamp: datetime
    """When it was written."""
    short_answer: str
    """In short, redacted."""
    reasoning: str | None
    """How it was arrived at, redacted."""
    confidence: float
    """How sure its writer was, 0 to 1."""
    tags: list[str]
    """Free labels."""
    conflict_flags: list[str]
    """What it contradicts."""
    loop_flag: bool
    """Whether its writer went round in circles."""
    provenance: Provenance
    """Where it comes from."""
    user_feedback: list[dict[str, JsonValue]] | None
    """What has been said of it, oldest first; null: nothing."""
    type: MemoryType
    """Kind of memory."""
    app_name: str
    """The application that it belongs to."""
    valid_to: datetime | None
    """Since when something newer holds; null: it holds."""

    @classmethod
    def of(cls, record: MemoryRecord, user: User) -> Entry:
        """Return `record` as `user` sees it."""
        return cls(
            user_id=user.shown,
            session_id=record.thread_id,
            timestamp=record.created_at.astimezone(UTC),
            short_answer=record.text,
            provenance=Provenance.model_construct(**record.provenance.model_dump()),
            user_feedback=record.feedback or None,
            valid_to=record.valid_to and record.valid_to.astimezone(UTC),
            **{name: getattr(record, name) for name in _SAME},
        )


_GIVEN: Sequence[str] = (
    "short_answer",
    "reasoning",
    "request_id",
    "session_id",
    "agent_id",
    "app_name",
    "confidence",
    "tags",
    "loop_flag",
)
"""Fields of an entry that a record has as they are given."""

_SAME: Sequence[str] = (
    "entry_id",
    "request_id",
    "agent_id",
    "reasoning",
    "confidence",
    "tags",
    "conflict_flags",
    "loop_flag",
    "type",
    "app_name",
)


def _flag(flag: Label, redactor: TextRedactor) -> str:
    """Return a flag redacted; one that names an entry stays."""
    try:
        UUID(flag)
    except ValueError:
        return redactor.redact(flag)
    return flag


def _written(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
