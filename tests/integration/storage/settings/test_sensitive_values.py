"""What is no name of a model does not become a setting."""

from __future__ import annotations

import pytest

from discreet.errors import SettingRefusedError


@pytest.mark.parametrize("model", ["ann@example.com", "openai:ann@example.com"])
async def test_a_sensitive_value_is_refused_and_nothing_is_stored(postgres_store, model):
    with pytest.raises(SettingRefusedError, match="memory_extraction_model: holds a sensitive value") as caught:
        await postgres_store.change({"memory_extraction_model": model, "memory_retrieve_limit": 7}, by="boss")
    assert "example.com" not in str(caught.value)
    assert await postgres_store.overridden() == frozenset()
    assert await postgres_store.history() == []


async def test_names_of_models_are_taken(postgres_store):
    for model in ("openai:gpt-4.1-2025-04-14", "ft:gpt-4o-mini-2024-07-18:my-org:custom-suffix:AbC123xy9"):
        await postgres_store.change({"memory_extraction_model": model}, by="boss")
