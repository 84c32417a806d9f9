"""What an export is made of: its records, one kind a file, and the manifest that says what there is of each.

The format has a version of its own, which grows with every change that a reader would notice.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from discreet.state.described import describe_fields

FORMAT: Final = "discreet.export"
VERSION: Final = 1

NOT_INCLUDED: Final = ("turns_under_way", "paused_turns", "cached_answers", "search_indexes")
"""What goes by itself within a day or can be made of the rest; docs/export.md says more."""


class ExportRecord(BaseModel):
    """One row of an export. Texts are redacted, as they are stored."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, json_schema_extra=describe_fields)


class MemoryRow(ExportRecord):
    """A memory, also one that something newer has taken the place of (`valid_to`)."""

    entry_id: UUID
    type: str
    text: str
    reasoning: str | None
    request_id: str | None
    thread_id: str | None
    position: int | None
    agent_id: str | None
    app_name: str
    created_at: datetime
    importance: int
    confidence: float
    tags: list[str]
    conflict_flags: list[str]
    loop_flag: bool
    provenance: dict[str, Any]
    feedback: list[dict[str, Any]]
    valid_from: datetime | None
    valid_to: datetime | None
    contradicted_by: list[UUID]
    """Memories that were said later, and can't hold beside it or may not."""
    hits: int
    """How often a search found it."""
    last_hit: datetime | None
    space: str | None = None
    """Which model made the vector, as provider:model:dims; only where vectors were asked for."""
    vector: list[float] | None = None
    """Of unit length."""


class TurnRow(ExportRecord):
    """A turn of the conversation log."""

    request_id: str
    thread_id: str | None
    thread_key: UUID
    """Digest of the thread_id."""
    app_name: str
    agent_id: str | None
    modality: str
    media: list[dict[str, Any]]
    input_text: str
    output_text: str
    is_emergency: bool
    loop_flag: bool
    provenance: dict[str, Any]
    started_at: datetime
    ended_at: datetime
    answer_id: str | None
    extraction_key: UUID | None
    """The request of a batch that has taken the turn."""


class ForgottenRoundRow(ExportRecord):
    """The mark of a round that no prompt tells any more."""

    thread_key: UUID
    request_id: str
    forgotten_at: datetime


class SessionRow(ExportRecord):
    """A conversation: when it was, and what about."""

    thread_id: str
    thread_key: UUID
    locale: str | None
    intent: str | None
    started_at: datetime
    ended_at: datetime
    rounds: int
    app_name: str
    closed_at: datetime | None
    pending_since: datetime | None
    taken_at: datetime | None
    taken_rounds: int
    compacted_rounds: int


class SessionSummaryRow(ExportRecord):
    """What a session came to."""

    thread_id: str
    app_name: str
    summary: str
    topics: list[str]
    key_facts: list[str]
    event_count: int
    started_at: datetime
    ended_at: datetime


class RollingSummaryRow(ExportRecord):
    """What the first rounds of a thread come to."""

    thread_id: str
    text: str
    rounds: int
    last_message_id: str | None
    updated_at: datetime


class ProposalRow(ExportRecord):
    """A memory that waits for a yes."""

    proposal_key: UUID
    created_at: datetime
    request_ids: list[str]
    """Of the turns that state it."""
    record: dict[str, Any]


class BatchRequestRow(ExportRecord):
    """A prompt that was, or is to be, made of turns: which turns, and what became of it."""

    request_key: UUID
    kind: str
    thread_id: str
    app_name: str
    trigger: str
    request_ids: list[str]
    state: str
    attempts: int
    created_at: datetime
    done_at: datetime | None
    input_tokens: int
    output_tokens: int
    outcome: dict[str, Any]
    error: str | None


class ItemRow(ExportRecord):
    """An item of the LangGraph store."""

    namespace: list[str]
    key: str
    value: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    ttl_minutes: float | None


class RoundRow(ExportRecord):
    """A round that short-term memory has, for a day at most."""

    thread_id: str
    request_id: str
    input_text: str
    output_text: str
    said_at: datetime
    is_emergency: bool


class ThreadRow(ExportRecord):
    """Where a thread of LangGraph stands: its newest checkpoint, without the messages that are rows of their own."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str
    created_at: str
    """As LangGraph has it."""
    values: dict[str, Any]
    """By channel, as JSON."""
    message_runs: list[tuple[str, int, int]]
    """Which rows of `messages` the checkpoint has, in their order: by channel, from a position to one."""


class MessageRow(ExportRecord):
    """A message as a row of a thread has it: of all branches, and of its whole history, with what was replaced later."""

    thread_id: str
    checkpoint_ns: str
    channel: str
    position: int
    type: Literal["human", "ai", "summary", "tool"]
    message_id: str | None
    content: str
    tool: list[dict[str, Any]] | dict[str, Any] | None
    """Of an `ai` that calls tools which the policy names: the calls, with name, args and id. Of a `tool`, which is a result: name, status, tool_call_id."""
    created_at: datetime


class DelegationRow(ExportRecord):
    """Who may, or might, read what is the user's."""

    delegate_key: UUID
    granted_at: datetime
    expires_at: datetime | None
    granted_by: str
    revoked_at: datetime | None


class SettingChangeRow(ExportRecord):
    """A setting that the user, as an administrator, has changed."""

    change_id: int
    name: str
    old: Any
    new: Any
    changed_at: datetime


class AuditRow(ExportRecord):
    """What was done with the user's data, and by whom."""

    number: int
    at: datetime
    actor_kind: str
    actor: str | None
    action: str
    success: bool
    data: str
    counts: dict[str, int]
    request_id: str | None
    ip_address: str | None
    user_agent: str | None


class UnreadableRow(ExportRecord):
    """A row that is there and can't be read. All others are exported nevertheless."""

    kind: str
    key: list[str | int]
    """What the row is found by, within its kind."""
    code: str
    """As the codes of errors; `encryption`: it is sealed under a key that is not known here."""


KINDS: Final[Mapping[str, type[ExportRecord]]] = {
    "memories": MemoryRow,
    "turns": TurnRow,
    "forgotten_rounds": ForgottenRoundRow,
    "sessions": SessionRow,
    "session_summaries": SessionSummaryRow,
    "rolling_summaries": RollingSummaryRow,
    "proposals": ProposalRow,
    "batch_requests": BatchRequestRow,
    "items": ItemRow,
    "rounds": RoundRow,
    "threads": ThreadRow,
    "messages": MessageRow,
    "delegations": DelegationRow,
    "setting_changes": SettingChangeRow,
    "audit": AuditRow,
    "unreadable": UnreadableRow,
}
"""By the name that files and lines have, in the order in which they are read. What can't be read comes among the others."""


class Part(ExportRecord):
    """The rows of one kind."""

    kind: str
    rows: int
    bytes: int
    sha256: str
    """Of the records as lines, each with its newline, in UTF-8: of the file, where there is one."""

    @property
    def file(self) -> str:
        """The file's name."""
        return file_of(self.kind)


class Sum:
    """Counts the lines of one kind as they pass."""

    def __init__(self) -> None:
        self._hash, self._rows, self._bytes = sha256(), 0, 0

    def add(self, lines: bytes) -> None:
        """Take lines with their newlines, or a piece of them."""
        self._hash.update(lines)
        self._rows += lines.count(b"\n")
        self._bytes += len(lines)

    def part(self, kind: str) -> Part:
        """Return what passed, as the manifest has it."""
        return Part(kind=kind, rows=self._rows, bytes=self._bytes, sha256=self._hash.hexdigest())


class Manifest(ExportRecord):
    """What an export has. It is written last: without it an export is not finished."""

    format: Literal["discreet.export"] = FORMAT
    version: Annotated[int, Field(ge=1, le=VERSION)] = VERSION
    user: UUID
    """The user's pseudonym, which is what the database calls them."""
    made_at: datetime
    """When it was begun."""
    finished_at: datetime
    vectors: bool
    """Whether memories come with theirs."""
    after: str | None = None
    """Of a stream that goes on where another broke off: the mark that it begins after. Its parts are those of the rest."""
    parts: list[Part]
    unreadable: dict[str, int]
    """How many rows of each kind can't be read; `unreadable` has them one by one."""
    erased_meanwhile: bool
    """Whether all of the user's was erased after the export began."""
    not_included: list[str] = list(NOT_INCLUDED)


class Header(ExportRecord):
    """The first line of a stream."""

    format: Literal["discreet.export"] = FORMAT
    version: Annotated[int, Field(ge=1, le=VERSION)] = VERSION
    user: UUID
    made_at: datetime
    after: str | None = None
    """As in the manifest."""


class MarkLine(ExportRecord):
    """A line after each page of a stream: a stream that breaks off afterwards can go on from here."""

    after: str
    """What to send as `after`."""
    sha256: str
    """Of all that the stream has before this line."""


def file_of(kind: str) -> str:
    """Return the name of the file of a kind."""
    return f"{kind}.jsonl"
