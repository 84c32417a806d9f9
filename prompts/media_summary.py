"""The instructions that a model gets for one voice or image message."""

from __future__ import annotations

from discreet.prompts.data import data_blocks
from discreet.prompts.texts import prompt_text

TRANSCRIPT_TAG = "transcript"


def render_media_summary(language: str | None = None) -> str:
    """Return the instruction for a payload, with the language of the message where it is known."""
    return _in_language(prompt_text("media_summary"), language)


def render_transcript_summary(language: str | None = None) -> str:
    """Return the instruction for a transcript, with its language where that is known."""
    return _in_language(prompt_text("media_summary_transcript"), language)


def render_transcript(text: str) -> str:
    """Return the transcript as delimited data."""
    return data_blocks({TRANSCRIPT_TAG: [text]})


def _in_language(text: str, language: str | None) -> str:
    return f"{text} The message is in `{language}`." if language else text
