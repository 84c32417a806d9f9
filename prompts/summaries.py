"""What a model gets to see when it summarises: the rolling summary of a thread, or a whole session at its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from discreet.prompts.data import closed_object, data_blocks
from discreet.prompts.texts import prompt_id, prompt_text

EARLIER_TAG, ROUNDS_TAG = "earlier_summary", "rounds"

VERSION: Final = "session_summary/1"
"""Of instruction and schema together; raised when either changes in what it asks for."""

_WORDS_A_TOKEN: Final = 0.75
"""English; about what every tokenizer's documentation says. Vietnamese and Russian have fewer, so they stay shorter."""

_TEXTS = {"type": "array", "items": {"type": "string"}}

SESSION_SUMMARY_SCHEMA: Final[dict[str, Any]] = closed_object(
    summary={"type": "string"}, topics=_TEXTS, key_facts=_TEXTS
)
"""JSON Schema of the answer to `render_session_summary`."""


class SummaryPrompt(NamedTuple):
    """The two messages of the prompt."""

    instruction: str
    data: str


def render_rolling_summary(
    rounds: Sequence[tuple[str, str]], *, earlier: str = "", max_tokens: int = 200
) -> SummaryPrompt:
    """Return the prompt that summarises `rounds`, pairs of what was said and answered; without any, that shortens `earlier`."""
    name = "rolling_summary" if rounds else "rolling_summary_shorter"
    words = max(1, int(max_tokens * _WORDS_A_TOKEN))
    return SummaryPrompt(prompt_text(name).format(words=words, characters=max_tokens), _as_data(rounds, earlier))


def render_session_summary(rounds: Sequence[tuple[str, str]], *, earlier: str = "") -> SummaryPrompt:
    """Return the prompt that summarises `rounds`, pairs of what was said and answered, which followed what `earlier` tells."""
    return SummaryPrompt(prompt_text("session_summary"), _as_data(rounds, earlier))


def session_summary_prompt_id() -> str:
    """Return the id of the prompt, for provenance."""
    return prompt_id(VERSION, prompt_text("session_summary"))


def _as_data(rounds: Sequence[tuple[str, str]], earlier: str) -> str:
    lines = [{"user": said, "assistant": answered} for said, answered in rounds]
    return data_blocks({EARLIER_TAG: [earlier] if earlier else [], ROUNDS_TAG: lines})
