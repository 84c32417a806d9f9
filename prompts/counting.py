"""How many tokens a message takes besides its text."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage

from discreet.state.message_text import text_of

Count = Callable[[str], int]
"""A `discreet.ports.TokenCounter`; that room lies above this one."""

MESSAGE_TOKENS: Final = 4
"""What a message takes besides its text: its role and two delimiters (OpenAI Cookbook, "How to count tokens")."""

IMAGE_TOKENS: Final = 1_600
"""The most that Anthropic's models take for an image (their page on vision); OpenAI's larger ones take 1,105 of 2,048 x 768."""

AUDIO_CHARS_A_TOKEN: Final = 670
"""Of base64: 32 tokens a second (Gemini's page on audio) of 16 kB."""

LONG_CHARS: Final = 8_000
"""Counting so many takes a millisecond."""

SAMPLES: Final = 4
SAMPLE_CHARS: Final = 500

_IMAGES = frozenset({"image", "image_url", "input_image"})
_SOUNDS = frozenset({"audio", "input_audio"})


def message_tokens(message: BaseMessage, count: Count) -> int:
    """Return the tokens of a message with its tool calls, images and sound."""
    return fixed_tokens(message, count) + count(text_of(message))


def fixed_tokens(message: BaseMessage, count: Count) -> int:
    """Return the tokens of all but the text."""
    calls = message.tool_calls if isinstance(message, AIMessage) else ()
    blocks = message.content if isinstance(message.content, list) else ()
    return (
        MESSAGE_TOKENS
        + sum(count(call["name"]) + count(json.dumps(call["args"], default=str)) for call in calls)
        + sum(_media_tokens(block) for block in blocks if isinstance(block, Mapping))
    )


def about(text: str, count: Count) -> int:
    """Return about how many tokens a long text takes, by samples of it; a short one is counted."""
    if len(text) <= LONG_CHARS:
        return count(text)
    step = len(text) // SAMPLES
    sampled = sum(count(text[at : at + SAMPLE_CHARS]) for at in range(0, step * SAMPLES, step))
    return sampled * len(text) // (SAMPLES * SAMPLE_CHARS)


def _media_tokens(block: Mapping[str, Any]) -> int:
    kind = block.get("type")
    if kind in _IMAGES:
        return IMAGE_TOKENS
    if kind in _SOUNDS:
        return _longest(block) // AUDIO_CHARS_A_TOKEN
    return 0


def _longest(value: object) -> int:
    """Return the length of the longest text in a block: its payload."""
    if isinstance(value, Mapping):
        return max((_longest(item) for item in value.values()), default=0)
    return len(value) if isinstance(value, str) else 0
