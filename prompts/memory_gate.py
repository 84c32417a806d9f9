"""What the small model of the gate gets to see: the instruction, the user's message, and what was said before it."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.prompts.data import data_blocks
from discreet.prompts.texts import prompt_text

MAX_CHARS = 1_000
"""Of a longer message its two ends are shown: what is asked stands before or after the material that it is about."""

MAX_CHARS_BEFORE = 300
"""Of each text of the round before."""


def render_memory_gate() -> str:
    """Return the instruction."""
    return prompt_text("memory_gate")


def as_message(text: str, before: Sequence[str] = ()) -> str:
    """Return the user's message as delimited data, and `before` it what they and the assistant said last."""
    earlier = [_ends(said, MAX_CHARS_BEFORE) for said in before]
    return data_blocks({"before": earlier, "message": [_ends(text, MAX_CHARS)]})


def _ends(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-most // 2 :]}"
