"""The instruction that a multimodal model gets for one voice or image message."""

from __future__ import annotations

from discreet.prompts.texts import prompt_text


def render_media_summary(language: str | None = None) -> str:
    """Return the instruction, with the language of the message where it is known."""
    text = prompt_text("media_summary")
    return f"{text} The message is in `{language}`." if language else text
