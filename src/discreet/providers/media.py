"""Summaries of voice and image messages: from words given along with the media, or from a multimodal chat model."""

from __future__ import annotations

import re
from collections.abc import Collection

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage

from discreet.errors import MediaSummaryUnavailableError
from discreet.ports import Media
from discreet.prompts.media_summary import render_media_summary
from discreet.state.media import Modality

MAX_SENTENCES = 3
MAX_SUMMARY_CHARS = 600
"""Three sentences of 200 characters each, which is long for any of the four languages."""

_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")  # noqa: RUF001  # full-width: Chinese


def first_sentences(text: str) -> str:
    """Return the first three sentences of `text` on one line, cut at 600 characters."""
    sentences = [part for part in _SENTENCE_END.split(" ".join(text.split())) if part]
    return " ".join(sentences[:MAX_SENTENCES])[:MAX_SUMMARY_CHARS].strip()


class GivenSummarizer:
    """Shortens the transcript or caption that the caller sent along."""

    async def summarize(self, media: Media) -> str:
        """Return the first sentences of what was given.

        Raises:
            MediaSummaryUnavailableError: Nothing was given.
        """
        summary = first_sentences(media.given or "")
        if not summary:
            raise MediaSummaryUnavailableError
        return summary


class ChatModelSummarizer:
    """Shortens what was given, and else asks a multimodal chat model."""

    def __init__(self, model: BaseChatModel, *, modalities: Collection[Modality] | None = None) -> None:
        """Ask `model` about these modalities; by default those that its LangChain profile names as inputs."""
        profile = model.profile or {}
        inputs: dict[Modality, bool | None] = {
            "image": profile.get("image_inputs"),
            "voice": profile.get("audio_inputs"),
        }
        self._model = model
        self._modalities = frozenset(m for m, able in inputs.items() if able) if modalities is None else modalities
        self._given = GivenSummarizer()

    async def summarize(self, media: Media) -> str:
        """Return 1 to 3 sentences about `media`.

        Raises:
            MediaSummaryUnavailableError: The model does not take this modality, or answered with nothing.
        """
        if media.given or media.modality not in self._modalities:
            return await self._given.summarize(media)
        instruction = SystemMessage(render_media_summary(media.meta.get("language")))
        answer = await self._model.ainvoke([instruction, HumanMessage(content=[dict(media.block)])])
        summary = first_sentences(answer.text)
        if not summary:
            raise MediaSummaryUnavailableError
        return summary
