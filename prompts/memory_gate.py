"""The instruction for the small model that decides whether a turn needs long-term memory."""

from __future__ import annotations

import re

from discreet.prompts.texts import prompt_text

MAX_CHARS = 1_000
"""Of a longer message its two ends are shown: what is asked stands before or after the material that it is about."""

_DELIMITER = re.compile(r"<(?=\s*/?\s*message\b)", re.IGNORECASE)


def render_memory_gate() -> str:
    """Return the instruction."""
    return prompt_text("memory_gate")


def as_message(text: str) -> str:
    """Return the user's message as delimited data that it can't leave."""
    if len(text) > MAX_CHARS:
        text = f"{text[: MAX_CHARS // 2]} … {text[-MAX_CHARS // 2 :]}"
    return f"<message>\n{_DELIMITER.sub('‹', text)}\n</message>"
