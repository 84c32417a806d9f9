"""What is done with conversations afterwards: sessions that wait for it, batches of prompts, what they come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import Field

from discreet.state.records import MemoryRecord, Moment, Record, Text

Trigger = Literal["session_end", "inactivity", "message_count", "interval", "compaction", "manual"]
"""What makes a session's turns be worked on. `manual`: somebody asked for it."""

RequestKind = Literal["extraction", "summary"]
"""What a prompt is for."""

RequestState = Literal["pending", "submitted", "applied", "failed", "cancelled"]
"""Of one prompt: waits for a batch; is in one; its result is in the database; was tried too often; is not wanted any more."""

JobState = Literal["submitting", "running", "completed", "failed", "cancelled", "vanished"]
"""Of a batch: is being handed in, or may be; the provider has it; all of it was fetched; refused as a whole; ended on request;
unknown to the provider. The last four are the ends."""

ENDS: Final[frozenset[JobState]] = frozenset({"completed", "failed", "cancelled", "vanished"})

MAX_SUMMARY_CHARS = 3_000


class SessionSummary(Record):
    """What a session came to."""

    summary: Annotated[Text, Field(max_length=MAX_SUMMARY_CHARS)]
    """Two or three sentences, redacted."""
    topics: list[Annotated[Text, Field(min_length=1, max_length=100)]] = Field(default_factory=list, max_length=10)
    """What it was about."""
    key_facts: list[Annotated[Text, Field(min_length=1, max_length=500)]] = Field(default_factory=list, max_length=20)
    """What the user stated or decided."""
    event_count: Annotated[int, Field(ge=0)]
    """Rounds that it covers."""
    started_at: Moment
    """When the first of them began."""
    ended_at: Moment
    """When the last of them ended."""


@dataclass(frozen=True, kw_only=True)
class PendingSession:
    """A session with turns that nothing was made of yet."""

    user_key: UUID
    thread_key: UUID
    app_name: str
    pending_since: datetime
    """When the first of them was logged."""
    ended_at: datetime
    """When the last of them ended."""
    rounds: int
    """How many the session has."""
    taken_rounds: int
    """How many of them were taken before."""
    closed_at: datetime | None
    """When the user ended it, unless they went on."""
    taken_at: datetime | None
    """When a trigger last fired."""
    compacted: int
    """Rounds that its rolling summary covers and did not when that last was a trigger."""
    behind: int
    """Rounds that its rolling summary does not cover; 0 if it has none."""
    now: datetime
    """By the clock of the database."""


@dataclass(frozen=True, kw_only=True)
class StoredRequest:
    """A prompt that is to be made, as the database has it: of whom, and of which turns."""

    user_key: UUID
    request_key: UUID
    kind: RequestKind
    thread_id: str
    thread_key: UUID
    app_name: str
    trigger: Trigger
    epoch: int
    """The user's when it was taken."""
    request_ids: tuple[str, ...]
    """Of the turns, in their order."""
    attempts: int = 0
    """How often it was handed in."""

    @property
    def custom_id(self) -> str:
        """What a provider knows it by: random."""
        return self.request_key.hex


@dataclass(frozen=True, kw_only=True)
class BatchJob:
    """A batch, as the database has it."""

    job_key: UUID
    provider: str
    model: str
    state: JobState
    batch_id: str | None
    """The provider's."""
    told: str
    """The provider's word for how far it is."""
    error: str | None
    """Code of what failed last."""
    requests: int
    is_cancelled: bool
    """Whether somebody asked for its end."""
    created_at: datetime
    submitted_at: datetime | None
    done_at: datetime | None
    failures: int
    """Calls of the provider that failed, in a row."""
    lease_token: int
    figures: Mapping[str, Any] = field(default_factory=dict)
    """What came of it: numbers by name."""
    is_withdrawn: bool = False
    """Whether the provider's copy is to go, since somebody was erased whose prompts are in it. What is others' is handed in anew."""


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A memory that waits until somebody accepts it."""

    user_key: UUID
    proposal_key: UUID
    created_at: datetime
    record: MemoryRecord
