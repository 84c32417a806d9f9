"""Settings of memory that live in the database, to be changed while servers run, and what they come to over the environment's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Annotated, Final, Literal

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from discreet.errors import SettingRefusedError
from discreet.state.described import describe_fields

ExtractionProvider = Literal["openai", "anthropic", "google", "immediate", "offline"]
HistoryMigration = Literal["off", "dual_write", "switched", "finished"]
EXTRACTION_MODELS: Final[Mapping[ExtractionProvider, str]] = {
    "openai": "gpt-4o-mini",
    "anthropic": "claude-haiku-4-5",
    "google": "gemini-2.5-flash-lite",
    "immediate": "default",
    "offline": "rules",
}
"""Where no model is set. `default` is the chat model that answers."""

Share = Annotated[float, Field(ge=0, le=1)]
WindowSize = Annotated[int, Field(ge=1_000, le=10_000_000)]
Days = Annotated[int, Field(ge=0, le=36_500)]
"""For how long something is kept. 0: it does not go by its age."""
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[\w.:/@-]+$")]


class Triggers(BaseModel):
    """When a session's turns are worked on: as soon as one of these says so. 0: never for that reason."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    session_end: bool = True
    inactivity_minutes: Annotated[int, Field(ge=0, le=60 * 24 * 30)] = 30
    message_count: Annotated[int, Field(ge=0, le=1_000)] = 20
    interval_hours: Annotated[int, Field(ge=0, le=24 * 30)] = 24
    compaction: bool = False


@lru_cache(maxsize=16)
def read_apps(written: str) -> dict[str, dict[str, int | bool]]:
    """Return what is said of applications, by their names.

    Raises:
        ValueError: It is no JSON of that form.
    """
    if not written.strip():
        return {}
    try:
        said = _APPS.validate_json(written)
    except ValidationError:
        raise ValueError(
            'must be JSON such as {"app": {"inactivity_minutes": 5}}, with any of ' + ", ".join(Triggers.model_fields)
        ) from None
    return {app: triggers.model_dump(exclude_unset=True) for app, triggers in said.items()}


_AppName = Annotated[str, Field(min_length=1, max_length=200)]
_APPS: TypeAdapter[dict[str, Triggers]] = TypeAdapter(dict[_AppName, Triggers])


class MemorySettings(BaseModel):
    """One value for each setting. What the database doesn't say comes from the environment, else is the default."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_extra=describe_fields,
        json_schema_serialization_defaults_required=True,
    )

    memory_extraction_enabled: bool = True
    """Whether facts are extracted from conversations in the background."""
    memory_extraction_interval_hours: Annotated[int, Field(ge=0, le=24 * 30)] = 24
    """How long a conversation that goes on waits at most, in hours. 0: however long."""
    memory_extraction_model: Name | None = None
    """Model that extracts, for `immediate` as provider:model. Not set: a small one of its provider; for `immediate` the chat model."""
    memory_extraction_provider: ExtractionProvider = "offline"
    """Who extracts: a batch at a provider, at half the price within a day; `immediate`: a chat model at once; `offline`: rules."""
    memory_extraction_review: bool = False
    """Whether what was extracted waits until somebody accepts it."""
    memory_trigger_session_end: bool = True
    """Whether a session that its user ends is worked on at once."""
    memory_trigger_inactivity_minutes: Annotated[int, Field(ge=0, le=60 * 24 * 30)] = 30
    """Minutes after its last turn until a session is worked on. 0: however long."""
    memory_trigger_message_count: Annotated[int, Field(ge=0, le=1_000)] = 20
    """Messages of the user's after which a session is worked on. 0: however many."""
    memory_trigger_compaction: bool = False
    """Whether a session is worked on whenever its rolling summary grows: every five rounds, where the graph has one."""
    memory_trigger_apps: Annotated[str, Field(max_length=4_000)] = ""
    """Other triggers for some applications, as JSON: {"app": {"inactivity_minutes": 5, "session_end": false}}."""
    memory_session_summaries: bool = True
    """Whether a session's summary is made when it is worked on."""
    memory_dedup_threshold: Share = 0.85
    """Similarity above which a new fact may supersede a stored one."""
    memory_update_threshold: Share = 0.95
    """Similarity above which a fact counts as said again. Not below the one before."""
    embedding_model: Name = "text-embedding-3-small"
    """Model for embeddings. Takes effect when servers start again; memories are then re-embedded in the background."""
    embedding_provider: Name = "local"
    """Whose model it is, `local`, or `none`: search by words."""
    max_memories_per_user: Annotated[int, Field(ge=1, le=1_000_000)] = 1_000
    """Memories that a user may have; then the least useful go."""
    memory_retrieve_limit: Annotated[int, Field(ge=1, le=50)] = 5
    """Memories put into a prompt at most. People of a few facts are told all of them."""
    memory_retrieve_threshold: Share = 0.6
    """Least similarity of a memory that shares no word with the question."""
    context_window_size: WindowSize | None = None
    """Tokens that the chat model takes, from 4,096 in practice. Not set: as its profile says, else 32,000."""
    retention_session_minutes: Annotated[int, Field(ge=1, le=60)] = 5
    """Minutes after its last message for which a session counts as active."""
    retention_history_hours: Annotated[int, Field(ge=1, le=168)] = 24
    """Hours after its last message for which the last rounds of a session are at hand. Redis takes it too."""
    retention_log_days: Days = 0
    """Days for which the conversation log has a turn; 0: no turn goes by its age. What an important moment was said in stays as long as that moment."""
    retention_checkpoint_days: Days = 0
    """Days for which checkpoints stay, and messages word for word in them; 0: none goes by its age. A thread goes so long after its last checkpoint."""
    retention_turn_days: Days = 0
    """Days for which turns are found by search; 0: no turn goes by its age. Their vectors and their text go together."""
    retention_reasoning_days: Days = 1_095
    """Days for which reasoning stays that was posted. 0: it does not go by its age."""
    retention_batch_days: Days = 30
    """Days for which batches and their prompts are known after their end. 0: they do not go."""
    retention_proposal_days: Days = 30
    """Days for which a memory waits until somebody accepts it. 0: however long."""
    retention_anonymous_days: Days = 30
    """Days for which conversations without a user_id are kept, from their first turn; 0: until they are deleted. Holds for those that begin from then on."""
    retention_audit_days: Annotated[int, Field(ge=365, le=3_650)] = 1_095
    """Days for which the audit trail has an entry."""
    history_migration: HistoryMigration = "off"
    """How far a team is that comes from a history in Redis (V1): `dual_write` writes both and reads theirs, `switched` reads ours."""

    @field_validator("memory_trigger_apps")
    @classmethod
    def _triggers_can_be_read(cls, written: str) -> str:
        read_apps(written)
        return written

    @property
    def extraction_model(self) -> str:
        """The model that extracts, also where none is set."""
        return self.memory_extraction_model or EXTRACTION_MODELS[self.memory_extraction_provider]

    @property
    def triggers(self) -> Triggers:
        """When sessions are worked on, for applications without triggers of their own."""
        return Triggers(
            session_end=self.memory_trigger_session_end,
            inactivity_minutes=self.memory_trigger_inactivity_minutes,
            message_count=self.memory_trigger_message_count,
            interval_hours=self.memory_extraction_interval_hours,
            compaction=self.memory_trigger_compaction,
        )

    def triggers_of(self, app_name: str) -> Triggers:
        """Return when sessions of an application are worked on."""
        return self.triggers.model_copy(update=read_apps(self.memory_trigger_apps).get(app_name, {}))

    @property
    def session_seconds(self) -> float:
        """For how long a session counts as active."""
        return 60.0 * self.retention_session_minutes

    @property
    def history_seconds(self) -> float:
        """For how long everything else of a session is at hand."""
        return 3_600.0 * self.retention_history_hours

    @model_validator(mode="after")
    def _thresholds_in_order(self) -> MemorySettings:
        if self.memory_update_threshold < self.memory_dedup_threshold:
            raise ValueError("memory_update_threshold must not be below memory_dedup_threshold")
        return self


class SettingChange(BaseModel):
    """One setting that was changed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    old: JsonValue
    """What it was; None: not set in the database."""
    new: JsonValue
    """What it is; None: no longer set in the database."""
    changed_at: AwareDatetime
    changed_by: str
    """Pseudonym of who changed it."""


NAMES = tuple(MemorySettings.model_fields)
"""Of all settings, in their order."""

_NAME_LIKE = re.compile(r"[a-z0-9_]{1,64}", re.ASCII)
"""What may be repeated in a message: nothing else that was sent as a name is."""


@dataclass(frozen=True)
class Changed:
    """What a change makes of the values that are set."""

    values: Mapping[str, JsonValue]
    """All that are set afterwards, by name."""
    settings: MemorySettings
    """What holds then."""
    differences: list[tuple[str, JsonValue, JsonValue]]
    """Name, old and new value of what became another, in the order of names; None: not set."""


def in_force(base: MemorySettings, values: Mapping[str, JsonValue]) -> tuple[MemorySettings, list[str]]:
    """Return `base` with `values` over it, and the names of those that can't be used and are left out.

    There are such where another version wrote them, or where the environment has changed since: a server starts anyway.
    """
    known = {name: values[name] for name in NAMES if name in values}
    left_out = [name for name in values if name not in known]
    try:
        return _merged(base, known), left_out
    except ValidationError:
        settings = base
    usable: dict[str, JsonValue] = {}
    for name, value in known.items():
        try:
            settings = _merged(base, {**usable, name: value})
        except ValidationError:
            left_out.append(name)
        else:
            usable[name] = value
    return settings, left_out


def changed(base: MemorySettings, values: Mapping[str, JsonValue], changes: Mapping[str, JsonValue]) -> Changed:
    """Return what `changes` make of the `values` that are set; None takes one away.

    All fields are checked together as they would hold afterwards, `base` saying those that are not set.

    Raises:
        SettingRefusedError: A name is unknown, or the values can't be used together.
    """
    _check_names(changes)
    after = {name: value for name, value in (dict(values) | dict(changes)).items() if value is not None}
    try:
        settings = _merged(base, {name: value for name, value in after.items() if name in NAMES})
    except ValidationError as error:
        raise _refusal(error) from None
    said = settings.model_dump(mode="json")
    after |= {name: said[name] for name in after if name in said}
    differences = [
        (name, values.get(name), after.get(name)) for name in sorted(changes) if values.get(name) != after.get(name)
    ]
    return Changed(after, settings, differences)


def _merged(base: MemorySettings, values: Mapping[str, JsonValue]) -> MemorySettings:
    """Return `base` with `values` over it. Nothing is converted: true is no number, and "5" is none."""
    return MemorySettings.model_validate(base.model_dump() | dict(values), strict=True)


def _check_names(changes: Mapping[str, JsonValue]) -> None:
    for name in changes:
        if name in NAMES:
            continue
        called = f" called {name}" if _NAME_LIKE.fullmatch(name) else " of that name"
        near = get_close_matches(name[:64], NAMES, n=1)
        meant = f" Did you mean {near[0]}?" if near else f" Known: {', '.join(NAMES)}."
        raise SettingRefusedError(f"Nothing was changed. There is no setting{called}.{meant}")


def _refusal(error: ValidationError) -> SettingRefusedError:
    """Return what is wrong, by field, without the values that were given."""
    said = [
        (str(each["loc"][0]) if each["loc"] else "", each["msg"].removeprefix("Value error, "))
        for each in error.errors(include_input=False, include_url=False, include_context=False)
    ]
    lines = "; ".join(f"{field}: {problem}" if field else problem for field, problem in said)
    return SettingRefusedError(f"Nothing was changed. {lines}.", [(field, problem) for field, problem in said if field])
