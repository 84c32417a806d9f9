"""Count the tokens of texts and messages, and cut texts so that they take no more than there is room for."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage

from discreet.state.message_text import text_of
from discreet.state.text import SENTENCE_END

Count = Callable[[str], int]
"""A `discreet.ports.TokenCounter`; that room lies above this one."""

MESSAGE_TOKENS: Final = 4
"""What a message takes besides its text: its role and two delimiters (OpenAI Cookbook, "How to count tokens")."""

IMAGE_TOKENS: Final = 1_600
"""The most that Anthropic's models take for an image (their page on vision); OpenAI's larger ones take 1,105 of 2,048 x 768."""

AUDIO_CHARS_A_TOKEN: Final = 670
"""Of base64: 32 tokens a second (Gemini's page on audio) of 16 kB."""

_IMAGES = frozenset({"image", "image_url", "input_image"})
_SOUNDS = frozenset({"audio", "input_audio"})

ELLIPSIS = " … "

LEAST_TOKENS = 20
"""What is left of a text that was cut has to say something; below this the text is left out."""

AIM, NEAR = 0.97, 0.9
"""Of the limit: what a cut aims at, and what is good enough."""

ATTEMPTS = 10
"""The first half of them by proportion, the others by halving, for texts that are dense at one end."""

HALF_CHARS = 80
"""In which half a placeholder or word stands."""
_HALF_PLACEHOLDER_BEFORE = re.compile(r"<[A-Z][A-Z0-9_:]{0,60}$")
_HALF_PLACEHOLDER_AFTER = re.compile(r"[A-Z0-9_:]{0,60}>")
_HALF_WORD_BEFORE = re.compile(r"(?<=\s)\S{1,15}$")
_HALF_WORD_AFTER = re.compile(r"\S{1,15}(?=\s)")


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


def fair_shares(sizes: Sequence[int], limit: int) -> list[int]:
    """Return for each of `sizes` what it gets of `limit`: small ones all they need, and large ones equal parts of the rest.

    Example:
        >>> fair_shares([10, 500, 300], 210)
        [10, 100, 100]
    """
    shares = [0] * len(sizes)
    left = max(0, limit)
    for done, at in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        shares[at] = min(sizes[at], left // (len(sizes) - done))
        left -= shares[at]
    return shares


def cut_at_sentence(text: str, limit: int, count: Count) -> str:
    """Return the first sentences of `text` that take at most `limit` tokens; empty if not even one does."""
    ends = [match.end() for match in SENTENCE_END.finditer(text)]
    kept = bisect_right(ends, limit, key=lambda end: count(text[:end]))
    return text[: ends[kept - 1]] if kept else ""


def cut_end(text: str, limit: int, count: Count) -> str:
    """Return as much of the beginning of `text` as takes at most `limit` tokens, without half a word or placeholder."""
    if count(text) <= limit:
        return text
    kept = bisect_right(range(1, len(text)), limit, key=lambda end: count(text[:end]))
    return _without_halves(text[:kept])


def cut_middle(
    text: str,
    limit: int,
    count: Count,
    *,
    render: Callable[[str], str] = str,
    mark: str = ELLIPSIS,
) -> str:
    """Return `text` rendered, with `mark` for its middle, in at most `limit` tokens; empty if that says too little.

    Where to cut is guessed from the tokens of the whole, so that few texts are counted.
    """
    if limit < LEAST_TOKENS:
        return ""
    best, low, least = "", 0, 0
    high, most = len(text), max(count(text), limit + 1)
    for attempt in range(ATTEMPTS):
        guess = (AIM * limit - least) / (most - least) if attempt < ATTEMPTS // 2 else 1 / 2
        kept = low + int(max(0.0, guess) * (high - low))
        candidate = render(_without_middle(text, kept, mark))
        taken = count(candidate)
        if taken > limit:
            high, most = kept, taken
        else:
            best, low, least = candidate, kept, taken
        if NEAR * limit <= taken <= limit or high - low <= 1:
            break
    return best


def _without_halves(head: str) -> str:
    end = head[-HALF_CHARS:]
    return (head[:-HALF_CHARS] + _HALF_WORD_BEFORE.sub("", _HALF_PLACEHOLDER_BEFORE.sub("", end))).rstrip()


def _without_middle(text: str, kept: int, mark: str) -> str:
    """Return about `kept` characters of both ends, without halves of words and of placeholders at the cut."""
    if kept >= len(text):
        return text
    head, tail = text[: (kept + 1) // 2], text[len(text) - kept // 2 :]
    head = _without_halves(head)
    half = _HALF_PLACEHOLDER_AFTER.match(tail) or _HALF_WORD_AFTER.match(tail)
    return f"{head}{mark}{tail[half.end() if half else 0 :].lstrip()}".strip()
