"""What a model gets to see when it writes the rolling summary of a thread: the instruction, and what was said as data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from discreet.prompts.texts import prompt_text

EARLIER_TAG = "earlier_summary"
ROUNDS_TAG = "rounds"
USER, ASSISTANT = "user: ", "assistant: "

_DELIMITER = re.compile(rf"<(?=\s*/?\s*(?:{EARLIER_TAG}|{ROUNDS_TAG})\b)", re.IGNORECASE)
_WORDS_A_TOKEN = 0.75
"""English; about what every tokenizer's documentation says. Vietnamese and Russian have fewer, so they stay shorter."""


class SummaryPrompt(NamedTuple):
    """The two messages of the prompt."""

    instruction: str
    data: str


def render_rolling_summary(
    rounds: Sequence[tuple[str, str]], *, earlier: str = "", max_tokens: int = 200
) -> SummaryPrompt:
    """Return the prompt that summarises `rounds`, pairs of what was said and answered; without any, that shortens `earlier`.

    Each text stands on one line, behind the name of its speaker, and without our tags: it can neither leave its block nor
    speak for somebody else.
    """
    name = "rolling_summary" if rounds else "rolling_summary_shorter"
    words = max(1, int(max_tokens * _WORDS_A_TOKEN))
    instruction = prompt_text(name).format(words=words, characters=max_tokens)
    lines = [line for said, answered in rounds for line in (USER + _as_data(said), ASSISTANT + _as_data(answered))]
    blocks = [(EARLIER_TAG, _as_data(earlier)), (ROUNDS_TAG, "\n".join(lines))]
    return SummaryPrompt(instruction, "\n\n".join(f"<{tag}>\n{text}\n</{tag}>" for tag, text in blocks if text))


def _as_data(text: str) -> str:
    return _DELIMITER.sub("‹", " ".join(text.split()))
