"""Counting tokens."""

from __future__ import annotations

from collections.abc import Callable

TokenCounter = Callable[[str], int]
"""Returns how many tokens a text takes, as a model's tokenizer counts them. Fast, pure, no network."""
