"""Records that outlive a turn: memories, the conversation log, the session."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal, Self
from uuid import UUID, uuid4, uuid5

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from discreet.errors import InvalidRecordError
from discreet.state.described import describe_fields
from discreet.state.ids import id_as_text
from discreet.state.media import MediaMeta, Modality
from discreet.state.text import storable

MemoryType = Literal[
    "user_fact",
    "preference",
    "event",
    "conversation_insight",
    "conversation_summary",
    "important_moment",
    "turn",
    "reasoning",
]
"""`turn` is a filtered conversation turn: searched like a memory, upserted on (user, thread_id, position), never merged
by dedup and outside the limit a user has. `reasoning` is stored only when a caller posts it."""

PAST_TYPES: Final[frozenset[MemoryType]] = frozenset({"conversation_summary", "turn"})
"""What tells of a conversation. The prompt of that conversation has it anyway."""

MAX_MEMORY_CHARS = 4_000
"""A memory is a short text; the longest LoCoMo turn has 1,200 characters. Longer ones belong in several records."""

MAX_REASONING_CHARS = 100_000
"""A reasoning is kept for audit and never searched, so it may be long: some fifty pages."""

MAX_FEEDBACK = 100
"""Ratings and comments of a record: all of them are read whenever it is."""

MAX_REQUEST_ID_CHARS = 200
"""Longest request_id that records are found by: an index holds them, and takes 2,704 bytes at most."""

MAX_LABELS = 50
"""Tags of a record, and flags."""

Place = tuple[str, int]
"""A thread and a position in it."""

PageMark = tuple[datetime, UUID]
"""created_at and entry_id of the last record of a page, aware: it says where the next page begins, also once that record
is gone."""

Text = Annotated[str, AfterValidator(storable)]


def in_utc(at: datetime) -> datetime:
    """Return `at`, if it has a time zone and lies between the years 1 and 9999 in UTC too.

    Raises:
        ValueError: It does not.
    """
    if at.tzinfo is None:
        raise ValueError("must have a time zone")
    try:
        at.astimezone(UTC)
    except OverflowError:
        raise ValueError("must lie between the years 1 and 9999 in UTC") from None
    return at


def checked_feedback(feedback: dict[str, Any]) -> dict[str, Any]:
    """Return `feedback`, if it is JSON.

    Raises:
        ValueError: It is not.
    """
    try:
        json.dumps(feedback, allow_nan=False)
    except (TypeError, ValueError):
        raise ValueError("must be JSON: texts, finite numbers, booleans, None, lists, and dicts of these") from None
    return feedback


Moment = Annotated[AwareDatetime, AfterValidator(in_utc)]

MAX_POSITION = 2**62
"""So that those of the turns around it fit the database's numbers too."""
Tag = Annotated[Text, Field(min_length=1, max_length=100)]


class Record(BaseModel):
    """Base of all records: immutable, closed, and refusing bad input with a typed error."""

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra=describe_fields)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            problems = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_input=False)]
            raise InvalidRecordError(f"{type(self).__name__} can't be stored: {'; '.join(problems)}") from None

    @classmethod
    def trusted(cls, values: dict[str, Any]) -> Self:
        """Return a record of `values`, all fields, which were validated when they were stored: a fifth of the time of a copy."""
        made = cls.__new__(cls)
        object.__setattr__(made, "__dict__", values)
        object.__setattr__(made, "__pydantic_fields_set__", set(values))
        object.__setattr__(made, "__pydantic_extra__", None)
        object.__setattr__(made, "__pydantic_private__", None)
        return made


class Provenance(Record):
    """Where a record comes from."""

    model: Text | None = None
    """Name of the model that wrote it."""
    model_version: Text | None = None
    """Its version, as the provider reports it."""
    prompt: Text | None = None
    """Id of the prompt, never its text."""
    source: Text | None = None
    """The door it came through, for example `save_memory`, `extraction`, `api`, `import`."""
    turns: list[Text] | None = Field(default=None, max_length=MAX_LABELS)
    """request_ids of the turns that state it, oldest first, where there are several, or it was found afterwards."""


class MemoryRecord(Record):
    """One thing worth remembering. Only `text` is required.

    Example:
        >>> MemoryRecord(text="Keeps two African Grey parrots", type="user_fact", tags=["pets"]).importance
        5
    """

    text: Annotated[Text, Field(min_length=1, max_length=MAX_MEMORY_CHARS)]
    """What is remembered, redacted before it is stored."""
    reasoning: Annotated[Text, Field(max_length=MAX_REASONING_CHARS)] | None = None
    """How it was arrived at, where a caller posts that: redacted before it is stored, and not searched."""
    type: MemoryType = "user_fact"
    """What kind of memory it is."""
    entry_id: UUID = Field(default_factory=uuid4)
    """Unique id."""
    request_id: Text | None = None
    """The turn that it was said in."""
    thread_id: Text | None = None
    """The conversation that it was said in."""
    position: Annotated[int, Field(ge=0, le=MAX_POSITION)] | None = None
    """Its order in the thread, from 0. Required for `turn`, together with `thread_id`."""
    agent_id: Text | None = None
    """The agent that saved it."""
    app_name: Annotated[Text, Field(min_length=1, max_length=200)] = "default"
    """The application that it belongs to."""
    created_at: Moment = Field(default_factory=lambda: datetime.now(UTC))
    """When it was said."""
    importance: Annotated[int, Field(ge=1, le=10)] = 5
    """1 (trivial) to 10 (vital)."""
    confidence: Annotated[float, Field(ge=0, le=1)] = 1.0
    """How sure its writer was, 0 to 1."""
    tags: list[Tag] = Field(default_factory=list, max_length=MAX_LABELS)
    """Free labels, filterable."""
    conflict_flags: list[Tag] = Field(default_factory=list, max_length=MAX_LABELS)
    """Ids of records that it contradicts."""
    loop_flag: bool = False
    """Set when the turn hit the tool loop's limit."""
    provenance: Provenance = Provenance()
    """Where it comes from."""
    feedback: list[Annotated[dict[str, Any], AfterValidator(checked_feedback)]] = Field(
        default_factory=list, max_length=MAX_FEEDBACK
    )
    """Ratings and comments, oldest first."""
    valid_from: Moment | None = None
    """Since when it holds; None: since `created_at`."""
    valid_to: Moment | None = None
    """Until when it held; None: it holds."""

    @property
    def place(self) -> Place | None:
        """Where in a conversation it was said, if that is known."""
        return None if self.thread_id is None or self.position is None else (self.thread_id, self.position)

    def model_post_init(self, _context: Any) -> None:
        """Check what spans several fields."""
        if self.type == "turn" and (self.thread_id is None or self.position is None):
            raise InvalidRecordError("MemoryRecord(type='turn') needs thread_id and position.")
        if not self.text.strip():
            raise InvalidRecordError("MemoryRecord.text is blank.")


def summary_id(thread_id: str) -> UUID:
    """Return the entry_id of the memory that tells what a thread came to. A user has one a thread, whoever writes it."""
    return uuid5(_SUMMARIES, thread_id)


_SUMMARIES: Final = UUID("6f1c3a52-0c1d-4b57-9e5c-3f0d4f6f5b1e")


class ScoredMemory(Record):
    """A memory that a search found."""

    record: MemoryRecord
    """The memory."""
    score: float
    """Rank score after fusion; higher is nearer. Comparable within one search only."""
    similarity: float
    """Calibrated similarity of the vectors, 0 to 1; comparable between searches with one embedding model."""


class MemoryFilters(Record):
    """Narrow a search; every filter given must hold."""

    app_name: Text | None = None
    """Only memories of this application."""
    shared_apps: list[Text] | None = None
    """Together with `app_name`: memories of these applications too."""
    thread_id: Text | None = None
    """Only memories of this conversation."""
    running_thread: Text | None = None
    """Leave out turns and summaries of this conversation: whoever is in it knows them."""
    agent_id: Text | None = None
    """Only memories of this agent."""
    request_id: Annotated[Text, Field(max_length=MAX_REQUEST_ID_CHARS)] | None = None
    """Only memories of this turn."""
    types: list[MemoryType] | None = None
    """Only memories of these types."""
    tags: list[Tag] | None = None
    """Only memories that carry all these tags."""
    after: Moment | None = None
    """Only memories said at or after this time."""
    before: Moment | None = None
    """Only memories said before this time."""
    as_of: Moment | None = None
    """What held at this time, superseded since or not. None: what holds now."""


def _as_list(media: object) -> object:
    """Return one or none as a list."""
    return [] if media is None else [media] if isinstance(media, Mapping) else media


class Annotation(Record):
    """What is noted of a turn beside its text."""

    locale: Annotated[Text, Field(max_length=35, pattern=r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$")] | None = None
    """BCP 47 tag of the language that the user speaks; None: not told."""
    intent: Annotated[Text, Field(min_length=1, max_length=200)] | None = None
    """What the conversation is about, in a few words, redacted; None: not told."""
    is_emergency: bool = False
    """Whether somebody may be in danger."""


class TurnRecord(Annotation):
    """One turn for the conversation log: what the user said and what was answered, both redacted."""

    request_id: Annotated[Text, Field(min_length=1, max_length=200)]
    """Unique; a second append with the same id, such as another answer to the same message, takes the first one's place."""
    user_id: Annotated[Text, BeforeValidator(id_as_text)] | None
    """Who spoke, an int or a UUID as its text; None for an unknown user."""
    thread_id: Text
    """The conversation."""
    app_name: Text = "default"
    """The application."""
    agent_id: Text | None = None
    """The agent that answered."""
    modality: Modality = "text"
    """How the user spoke."""
    media: Annotated[list[MediaMeta], BeforeValidator(_as_list)] = Field(default_factory=list)
    """Metadata of each medium, in the order of the message. One alone is taken too, as logs had it first."""
    input_text: Text
    """What the user said, and the summaries of the media."""
    output_text: Text
    """What was answered."""
    loop_flag: bool = False
    """Set when the turn hit the tool loop's limit."""
    provenance: Provenance = Provenance()
    """Which model answered."""
    started_at: Moment
    """When the user's message arrived."""
    ended_at: Moment
    """When the answer was complete."""
    answer_id: Text | None = None
    """Id of the message that ends the answer, if it has one."""


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
