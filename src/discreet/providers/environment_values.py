"""What the environment says of the settings that the database may say too."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, Literal

from pydantic import ValidationError

from discreet.errors import ConfigurationError
from discreet.providers.embeddings import ACCEPTED, LOCAL, NONE, default_embedding
from discreet.providers.names import split_name
from discreet.settings import Settings
from discreet.state.memory_settings import MemorySettings

Source = Literal["database", "environment", "default"]
"""Where a value comes from."""

SAME: Mapping[str, str] = MappingProxyType(
    {
        "memory_dedup_threshold": "dedup_threshold",
        "memory_update_threshold": "update_threshold",
        "max_memories_per_user": "max_memories_per_user",
        "memory_retrieve_limit": "retrieve_limit",
        "context_window_size": "context_window_size",
        "memory_retrieve_threshold": "retrieve_threshold",
        "memory_extraction_enabled": "extraction",
        "memory_extraction_review": "extraction_review",
        "retention_session_minutes": "retention_session_minutes",
        "retention_history_hours": "retention_history_hours",
        "retention_log_days": "retention_log_days",
        "retention_checkpoint_days": "retention_checkpoint_days",
        "retention_turn_days": "retention_turn_days",
        "retention_reasoning_days": "retention_reasoning_days",
        "retention_batch_days": "retention_batch_days",
        "retention_proposal_days": "retention_proposal_days",
        "retention_anonymous_days": "anonymous_days",
        "retention_audit_days": "retention_audit_days",
    }
)
"""Field of `Settings` by setting, where both have one value. The variable of a field is DISCREET_ and its name."""

EXTRACTION: Mapping[str, str] = MappingProxyType(
    {"memory_extraction_provider": "extraction_provider", "memory_extraction_model": "extraction_model"}
)
"""The same, where the default depends on what else there is."""

EMBEDDING = frozenset({"embedding_model", "embedding_provider"})
"""Settings that DISCREET_EMBEDDING_MODEL says in one."""

MODELLESS = frozenset({LOCAL, NONE})
"""Providers of one model each: the name of the model plays no part, and stays the default one."""


def environment_values(settings: Settings) -> MemorySettings:
    """Return what holds where the database says nothing.

    Raises:
        ConfigurationError: A value can't be used; it names the variable, never the value.
    """
    values: dict[str, Any] = {name: getattr(settings, field) for name, field in SAME.items()}
    if values["memory_retrieve_threshold"] is None:
        values["memory_retrieve_threshold"] = 0.0  # which finds the same
    values["memory_extraction_provider"] = settings.extraction_provider or "offline"
    values["memory_extraction_model"] = settings.extraction_model
    provider, model = _embedding(settings)
    values["embedding_provider"] = provider
    if model is not None:
        values["embedding_model"] = model
    try:
        return MemorySettings.model_validate(values)
    except ValidationError as error:
        raise ConfigurationError("These settings can't be used: " + "; ".join(_told(error)) + ".") from None


def said_by_environment(settings: Settings) -> frozenset[str]:
    """Return the names of the settings that a variable, or who made `settings`, says; the others are defaults."""
    said = {name for name, field in SAME.items() if field in settings.model_fields_set}
    if settings.embedding_model is not None:
        said |= {"embedding_provider"} if settings.embedding_model.strip().lower() in MODELLESS else EMBEDDING
    said |= {name for name, field in EXTRACTION.items() if getattr(settings, field) is not None}
    return frozenset(said)


def sources(settings: Settings, overridden: Collection[str]) -> dict[str, Source]:
    """Return where the value of each setting comes from; `overridden` are the names that the database says."""
    found: dict[str, Source] = dict.fromkeys(MemorySettings.model_fields, "default")
    found.update(dict.fromkeys(said_by_environment(settings), "environment"))
    found.update(dict.fromkeys(overridden, "database"))
    return found


def embedding_name(values: MemorySettings) -> str:
    """Return the embedding model as `embedding_provider()` takes it."""
    provider = values.embedding_provider.lower()
    return provider if provider in MODELLESS else f"{provider}:{values.embedding_model}"


def _embedding(settings: Settings) -> tuple[str, str | None]:
    """Return provider and model; None: the provider has one, or it is the default."""
    written = settings.embedding_model
    if written is None:
        return default_embedding(), None
    if (provider := written.strip().lower()) in MODELLESS:
        return provider, None
    return split_name(written, accepted=ACCEPTED)


def _told(error: ValidationError) -> list[str]:
    lines = []
    for each in error.errors(include_input=False, include_url=False):
        name = str(each["loc"][0]) if each["loc"] else ""
        field = {**SAME, **EXTRACTION}.get(name, name)
        where = f"DISCREET_{field.upper()}: " if name else ""
        lines.append(where + each["msg"].removeprefix("Value error, "))
    return lines
