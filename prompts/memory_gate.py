"""The instruction for the small model that decides whether a turn needs long-term memory."""

from __future__ import annotations

import re
from collections.abc import Sequence

from discreet.prompts.texts import prompt_text

MAX_CHARS = 1_000
"""Of a longer message its two ends are shown: what is asked stands before or after the material that it is about."""

MAX_CHARS_BEFORE = 300
"""Of each text of the round before."""

_DELIMITER = re.compile(r"<(?=\s*/?\s*(?:message|before)\b)", re.IGNORECASE)


def render_memory_gate() -> str:
    """Return the instruction."""
    return prompt_text("memory_gate")


def as_message(text: str, before: Sequence[str] = ()) -> str:
    """Return the user's message as delimited data that it can't leave, and `before` it what they and the assistant said last."""
    earlier = "\n".join(_data(said, MAX_CHARS_BEFORE) for said in before)
    block = f"<before>\n{earlier}\n</before>\n" if before else ""
    return f"{block}<message>\n{_data(text, MAX_CHARS)}\n</message>"


def _data(text: str, most: int) -> str:
    if len(text) > most:
        text = f"{text[: most // 2]} … {text[-most // 2 :]}"
    return _DELIMITER.sub("‹", text)
