"""What a model gets to see when it summarises a session: the instruction, what was said as data, and the schema of its answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from discreet.prompts.ids import prompt_id
from discreet.prompts.structured import closed_object, data_blocks
from discreet.prompts.texts import prompt_text

EARLIER_TAG, ROUNDS_TAG = "earlier_summary", "rounds"

VERSION: Final = "session_summary/1"
"""Of instruction and schema together; raised when either changes in what it asks for."""

_TEXTS = {"type": "array", "items": {"type": "string"}}

SESSION_SUMMARY_SCHEMA: Final[dict[str, Any]] = closed_object(
    summary={"type": "string"}, topics=_TEXTS, key_facts=_TEXTS
)
"""JSON Schema of the answer."""


class SessionSummaryPrompt(NamedTuple):
    """The two messages of the prompt."""

    instruction: str
    data: str


def render_session_summary(rounds: Sequence[tuple[str, str]], *, earlier: str = "") -> SessionSummaryPrompt:
    """Return the prompt that summarises `rounds`, pairs of what was said and answered, which followed what `earlier` tells."""
    lines = [{"user": said, "assistant": answered} for said, answered in rounds]
    data = data_blocks([(EARLIER_TAG, [earlier] if earlier else []), (ROUNDS_TAG, lines)])
    return SessionSummaryPrompt(prompt_text("session_summary"), data)


def session_summary_prompt_id() -> str:
    """Return the id of the prompt, for provenance."""
    return prompt_id(VERSION, prompt_text("session_summary"))
