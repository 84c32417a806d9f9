"""Settings of memory that live in the database, so that they can be changed while servers run."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue, model_validator

Share = Annotated[float, Field(ge=0, le=1)]
WindowSize = Annotated[int, Field(ge=1_000, le=10_000_000)]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[\w.:/@-]+$")]


class MemorySettings(BaseModel):
    """One value for each setting. What the database doesn't say comes from the environment, else is the default."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    memory_extraction_enabled: bool = True
    """Whether facts are extracted from conversations in the background."""
    memory_extraction_interval_hours: Annotated[int, Field(ge=1, le=24 * 30)] = 24
    """How often, in hours."""
    memory_extraction_model: Name = "gpt-4o-mini"
    """Model that extracts."""
    memory_extraction_provider: Literal["openai", "google", "anthropic"] = "openai"
    """Whose model it is."""
    memory_dedup_threshold: Share = 0.85
    """Similarity above which a new fact may supersede a stored one."""
    memory_update_threshold: Share = 0.95
    """Similarity above which a fact counts as said again. Not below the one before."""
    embedding_model: Name = "text-embedding-3-small"
    """Model for embeddings. Takes effect when servers start again; memories are then re-embedded in the background."""
    embedding_provider: Name = "openai"
    """Whose model it is, or `local`."""
    max_memories_per_user: Annotated[int, Field(ge=1, le=1_000_000)] = 1_000
    """Memories that a user may have; then the least useful go."""
    memory_retrieve_limit: Annotated[int, Field(ge=1, le=50)] = 5
    """Memories put into a prompt at most. People of a few facts are told all of them."""
    memory_retrieve_threshold: Share = 0.6
    """Least similarity of a memory that shares no word with the question."""
    context_window_size: WindowSize | None = None
    """Tokens that the chat model takes, from 4,096 in practice. Not set: as its profile says, else 8,000."""

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
