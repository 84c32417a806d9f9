"""What the environment says of the settings that the database may say too."""

from __future__ import annotations

import pytest

from discreet.errors import ConfigurationError
from discreet.providers import embedding_provider
from discreet.providers.environment_values import (
    EMBEDDING,
    SAME,
    embedding_name,
    environment_values,
    said_by_environment,
    sources,
)
from discreet.settings import Settings
from discreet.state.memory_settings import MemorySettings


def settings(**values):
    return Settings(_env_file=None, **values)


def test_the_defaults_of_both_are_the_same():
    assert environment_values(settings()) == MemorySettings()
    assert environment_values(settings(openai_api_key="k")) == MemorySettings(), "a key names nothing"
    assert said_by_environment(settings()) == frozenset()


def test_every_value_that_both_have_is_taken_over(monkeypatch):
    values = {
        "dedup_threshold": 0.5,
        "update_threshold": 0.75,
        "max_memories_per_user": 12,
        "retrieve_limit": 9,
        "context_window_size": 16_000,
        "retrieve_threshold": 0.25,
        "extraction": False,
        "extraction_review": True,
        "retention_session_minutes": 6,
        "retention_history_hours": 25,
        "retention_log_days": 31,
        "retention_checkpoint_days": 32,
        "retention_turn_days": 181,
        "retention_reasoning_days": 1_096,
        "retention_batch_days": 33,
        "retention_proposal_days": 34,
        "anonymous_days": 35,
        "retention_audit_days": 1_097,
    }
    for field, value in values.items():
        monkeypatch.setenv(f"DISCREET_{field}".upper(), str(value))
    read = settings()
    memory = environment_values(read)
    assert {field: getattr(memory, name) for name, field in SAME.items()} == values
    assert said_by_environment(read) == set(SAME)


@pytest.mark.parametrize(
    ("written", "provider", "model", "said"),
    [
        ("openai:text-embedding-3-large", "openai", "text-embedding-3-large", EMBEDDING),
        ("OpenAI: BAAI/bge-m3:latest", "openai", "BAAI/bge-m3:latest", EMBEDDING),
        ("local", "local", "text-embedding-3-small", {"embedding_provider"}),
        (" None ", "none", "text-embedding-3-small", {"embedding_provider"}),
    ],
)
def test_the_embedding_model_is_two_settings(written, provider, model, said):
    read = settings(embedding_model=written, openai_base_url="http://127.0.0.1:1/v1")
    memory = environment_values(read)
    assert (memory.embedding_provider, memory.embedding_model) == (provider, model)
    assert said_by_environment(read) == said
    assert embedding_provider(embedding_name(memory), settings=read).name == embedding_provider(settings=read).name


@pytest.mark.parametrize(
    ("values", "provider", "model", "said"),
    [
        ({}, "offline", "rules", set()),
        ({"openai_api_key": "k"}, "offline", "rules", set()),
        ({"extraction_provider": "anthropic"}, "anthropic", "claude-haiku-4-5", {"memory_extraction_provider"}),
        ({"extraction_provider": "google"}, "google", "gemini-2.5-flash-lite", {"memory_extraction_provider"}),
        ({"extraction_provider": "immediate"}, "immediate", "default", {"memory_extraction_provider"}),
        (
            {"extraction_provider": "openai", "extraction_model": "gpt-5-mini"},
            "openai",
            "gpt-5-mini",
            {"memory_extraction_provider", "memory_extraction_model"},
        ),
    ],
)
def test_who_extracts_is_who_is_named(values, provider, model, said):
    read = settings(**values)
    memory = environment_values(read)
    assert (memory.memory_extraction_provider, memory.extraction_model) == (provider, model)
    assert said_by_environment(read) == said


def test_the_database_goes_before_the_environment_before_the_default():
    told = sources(settings(retrieve_limit=5, dedup_threshold=0.8), {"memory_retrieve_limit", "context_window_size"})
    assert {name: source for name, source in told.items() if source != "default"} == {
        "memory_retrieve_limit": "database",
        "context_window_size": "database",
        "memory_dedup_threshold": "environment",
    }
    assert list(told) == list(MemorySettings.model_fields)


def test_no_least_score_is_one_of_zero():
    assert environment_values(settings(retrieve_threshold=None)).memory_retrieve_threshold == 0.0


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"max_memories_per_user": 5_000_000}, "DISCREET_MAX_MEMORIES_PER_USER: .*1000000"),
        ({"embedding_model": "openai:a secret name"}, "DISCREET_EMBEDDING_MODEL: "),
        ({"dedup_threshold": 0.9, "update_threshold": 0.8}, "memory_update_threshold must not be below"),
        ({"embedding_model": "nothing"}, "names no model"),
    ],
)
def test_what_cannot_be_used_is_named_by_its_variable(values, told):
    with pytest.raises(ConfigurationError, match=told) as caught:
        environment_values(settings(**values))
    assert "secret" not in str(caught.value)
