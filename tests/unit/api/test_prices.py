"""What extraction costs, by list prices."""

from __future__ import annotations

import doctest

import pytest

from discreet.api import prices
from discreet.api.prices import cost, price_list
from discreet.state.memory_settings import EXTRACTION_MODELS


def test_examples():
    assert doctest.testmod(prices).failed == 0


def test_the_list_is_dated_and_answers_cost_more_than_prompts():
    known = price_list()
    assert known.as_of.isoformat() == "2026-11-01"
    assert all(0 < asked < answered < 100 for asked, answered in known.prices.values())


@pytest.mark.parametrize("provider", ["openai", "anthropic", "google", "offline"])
def test_the_default_model_of_each_provider_has_a_price(provider):
    assert cost(EXTRACTION_MODELS[provider], 1_000_000, 0, provider) is not None


@pytest.mark.parametrize(
    ("model", "provider", "told"),
    [
        ("gpt-4o-mini", "openai", 0.375),
        ("gpt-4o-mini-2024-07-18", "openai", 0.375),
        ("openai:gpt-4o-mini", "immediate", 0.75),
        ("claude-haiku-4-5-20251001", "anthropic", 3.0),
        ("claude-haiku-4-5@20251001", "anthropic", 3.0),
        ("models/gemini-2.5-flash-lite", "google", 0.25),
        ("gemini-2.5-flash", "google", 1.4),
        ("gemini-2.5-flash-lite-preview-09-2025", "google", 0.25),
        ("gemini-2.5-flash-image", "google", None),
        ("gpt-4o-mini-audio-preview", "openai", None),
        ("gpt-5.4-minimal", "openai", None),
        ("ft:gpt-4o-mini:us::1", "openai", None),
        ("llama3:8b", "immediate", None),
        ("gpt-4o-mini", "elsewhere", None),
        ("rules", "offline", 0.0),
        ("offline", "immediate", 0.0),
    ],
)
def test_the_longest_known_beginning_counts_and_what_follows_it_is_a_version(model, provider, told):
    assert cost(model, 1_000_000, 1_000_000, provider) == told
