"""The instructions that a model gets for one voice or image message."""

from __future__ import annotations

import re

from discreet.prompts.texts import prompt_text

TRANSCRIPT_TAG = "transcript"

_DELIMITER = re.compile(rf"<(?=\s*/?\s*{TRANSCRIPT_TAG}\b)", re.IGNORECASE)


def render_media_summary(language: str | None = None) -> str:
    """Return the instruction for a payload, with the language of the message where it is known."""
    return _in_language(prompt_text("media_summary"), language)


def render_transcript_summary(language: str | None = None) -> str:
    """Return the instruction for a transcript, with its language where that is known."""
    return _in_language(prompt_text("media_summary_transcript"), language)


def render_transcript(text: str) -> str:
    """Return the transcript between its delimiters, which it can't end itself."""
    return f"<{TRANSCRIPT_TAG}>\n{_DELIMITER.sub('‹', text)}\n</{TRANSCRIPT_TAG}>"


def _in_language(text: str, language: str | None) -> str:
    return f"{text} The message is in `{language}`." if language else text
